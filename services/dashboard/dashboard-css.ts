/** Served as its own file: the content security policy allows no inline styles. Colours keep a contrast of 4.5:1 in both schemes. */
export const DASHBOARD_CSS = `
:root { color-scheme: light dark; --ink: light-dark(#1b2230, #e9ecf3); --soft: light-dark(#556072, #a5afc0); --line: light-dark(#d5dbe5, #333d4e);
  --card: light-dark(#ffffff, #1a2130); --ground: light-dark(#f3f5f9, #10151f); --accent: light-dark(#2447c4, #9db4ff);
  --bad: light-dark(#a3161c, #ff9d9d); --good: light-dark(#11682f, #74d795); --open: light-dark(#7a4a00, #f3c069); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: .9375rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
.top { border-bottom: 1px solid var(--line); background: var(--card); }
.top a { display: block; max-width: 78rem; margin: 0 auto; padding: .75rem 1rem; color: var(--ink); font-weight: 650; text-decoration: none; }
main { max-width: 78rem; margin: 0 auto; padding: 1rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.125rem; margin: 1.75rem 0 .5rem; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
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
.badge.submitted_unknown { color: var(--bad); }
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
`;
