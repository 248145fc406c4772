import { TIMELINE_COLOURS, TIMELINE_CSS } from './timeline-css.ts';

/** Served as its own file: the content security policy allows no inline styles. Colours keep a contrast of 4.5:1 in both schemes. */
export const DASHBOARD_CSS = `${TIMELINE_COLOURS}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: .9375rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
.top { border-bottom: 1px solid var(--line); background: var(--card); }
.top nav { display: flex; flex-wrap: wrap; gap: 0 .25rem; max-width: 78rem; margin: 0 auto; padding: 0 .25rem; }
.top a { display: block; min-height: 2.75rem; padding: .625rem .75rem; color: var(--ink); text-decoration: none; } .top .home { font-weight: 650; } .top a:hover { text-decoration: underline; }
main { max-width: 78rem; margin: 0 auto; padding: 1rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.125rem; margin: 1.75rem 0 .5rem; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.reason { max-width: 40rem; } .reason label { display: block; font-weight: 600; margin: 1rem 0 .25rem; }
.reason input { width: 100%; min-height: 2.75rem; padding: .375rem .625rem; font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft); border-radius: .375rem; }
.problem { color: var(--bad); font-weight: 600; }
.soft { color: var(--soft); }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
time { white-space: nowrap; } td time { white-space: normal; } time b { font-weight: 500; }
table { width: 100%; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); }
caption { text-align: start; color: var(--soft); padding: 0 0 .375rem; }
th, td { text-align: start; vertical-align: top; padding: .5rem .75rem; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); }
td > div { overflow-wrap: anywhere; min-width: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .375rem 1.25rem; margin: .75rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; }
dt { color: var(--soft); } dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.details { display: flex; flex-wrap: wrap; gap: .125rem .75rem; } .details span { overflow-wrap: anywhere; }
.badge { font-weight: 600; color: var(--open); white-space: nowrap; }
.badge.delivered, .badge.closed, .badge.sent { color: var(--good); }
.badge.undelivered, .badge.expired, .badge.suppressed, .badge.policy_rejected, .badge.rejected, .badge.render_failed, .badge.dead_lettered, .badge.unknown,
.badge.submitted_unknown, .badge.at_risk { color: var(--bad); }
.words { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: .5rem 0; font-size: 1rem; }
@media (max-width: 46rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, td, caption { display: block; }
  table { border: 0; background: none; }
  tr { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; margin-bottom: .75rem; }
  td { display: grid; grid-template-columns: 6.5rem 1fr; gap: .5rem; border: 0; padding: .1875rem 0; }
  td::before { content: attr(data-label); color: var(--soft); }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } time { white-space: normal; }
}
.idline { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; margin: 0 0 .75rem; } .idline code { user-select: all; }
button, .button { font: inherit; min-height: 2.75rem; padding: .5rem .875rem; border: 1px solid var(--soft); border-radius: .5rem; background: var(--card); color: var(--ink); cursor: pointer; }
.standing-now { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; margin: .75rem 0; } .standing-now p { margin: .25rem 0; } .standing-now .badge { font-size: 1.1875rem; }
#live { overflow-anchor: none; }
.live { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1rem; min-height: 2.75rem; } .live p { margin: 0; } .live a, .idline a { display: inline-block; padding: .6875rem 0; }
.timeline { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; }
.legend { list-style: none; flex-wrap: wrap; gap: .25rem 1.125rem; margin: .75rem 0 0; padding: .625rem 0 0; border-top: 1px solid var(--line); font-size: .875rem; } .legend li { display: flex; align-items: center; gap: .375rem; }
details > summary { cursor: pointer; min-height: 2.75rem; padding: .625rem 0; font-weight: 600; } details ol { margin: 0 0 .75rem; padding-left: 2rem; }
.told, .answers { margin: .5rem 0; padding: .75rem 1rem .75rem 2.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; } .told li, .answers li { margin: .25rem 0; overflow-wrap: anywhere; } .told em, .answers em { font-style: normal; font-weight: 600; }
.filters { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: .75rem 0; } .filters > div { flex: 1 1 11rem; min-width: 0; } .filters .wide-field { flex: 2 1 18rem; }
.filters label { display: block; font-weight: 600; font-size: .875rem; } .filters input, .filters select { font: inherit; width: 100%; min-height: 2.75rem; padding: .375rem .625rem; border: 1px solid var(--soft); border-radius: .5rem; background: var(--card); color: var(--ink); }
::placeholder { color: var(--soft); opacity: 1; }
.problem { color: var(--bad); font-weight: 600; } .pager { display: flex; gap: 1.5rem; } .pager a { padding: .6875rem 0; }
@media (max-width: 46rem) { table a, dl a { display: inline-block; padding: .6875rem 0; margin: -.6875rem 0; } td { padding: .3125rem 0; } }
.filters textarea { font: inherit; width: 100%; padding: .375rem .625rem; border: 1px solid var(--soft); border-radius: .5rem; background: var(--card); color: var(--ink); resize: vertical; }
.filters > .long-field { flex: 1 1 100%; }
@media (max-width: 30rem) { .top a { padding: .625rem .5rem; } }
.acts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: .75rem; align-items: start; margin: .5rem 0; }
.act { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 0 1rem; min-width: 0; } .act[open] { grid-column: 1 / -1; padding-bottom: 1rem; border-color: var(--soft); }
.act > summary { padding: .6875rem 0; color: var(--accent); } .act > summary .soft { font-weight: 400; margin-left: .5rem; } .act p { margin: .25rem 0 .5rem; } .act label { margin-top: .5rem; } .act .buttons { margin: .75rem 0 0; }
.do { background: var(--accent); border-color: var(--accent); color: var(--card); font-weight: 650; }
.preview { border-left: 3px solid var(--open); padding-left: .75rem; margin: .5rem 0; } .clocks { list-style: none; margin: 0; padding: 0; } .clocks li { display: grid; grid-template-columns: max-content 5rem 1fr; gap: 0 1rem; padding: .1875rem 0; }
.unable { margin: .5rem 0; padding-left: 1.25rem; } .finding { background: var(--card); border: 1px solid var(--line); border-left: 3px solid var(--bad); border-radius: .5rem; padding: .75rem 1rem; margin: .75rem 0; }
.finding ul { list-style: none; margin: 0; padding: 0; } .finding li + li { margin-top: .5rem; } .finding p { margin: .375rem 0 0; overflow-wrap: anywhere; } .said { overflow-wrap: anywhere; }
.done { color: var(--good); font-weight: 600; } .done b { font-weight: inherit; }
@media (max-width: 46rem) { .clocks li { grid-template-columns: auto 1fr; } .clocks .soft time { white-space: nowrap; } .clocks li span:last-child { grid-column: 1 / -1; } }
.mail { display: block; width: 100%; height: 40rem; max-height: 80vh; border: 1px solid var(--line); border-radius: .5rem; background: #fff; } .subject { overflow-wrap: anywhere; }
${TIMELINE_CSS}`;
