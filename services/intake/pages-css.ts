/** Served as its own file: the content security policy allows no inline styles. Colours keep a contrast of 4.5:1 in both schemes. */
export const PAGES_CSS = `
:root { color-scheme: light dark; --ink: light-dark(#1b2230, #e9ecf3); --soft: light-dark(#556072, #a5afc0); --line: light-dark(#cdd4df, #3b4556);
  --edge: light-dark(#7b8798, #77839a); --card: light-dark(#ffffff, #1a2130); --ground: light-dark(#f3f5f9, #10151f); --accent: light-dark(#2447c4, #9db4ff);
  --on-accent: light-dark(#ffffff, #10151f); --bad: light-dark(#a3161c, #ff9d9d); --bad-ground: light-dark(#fdecec, #351a20); --good: light-dark(#11682f, #74d795); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
.top { border-bottom: 1px solid var(--line); background: var(--card); }
.top a, .top span { display: block; max-width: 44rem; min-height: 2.75rem; margin: 0 auto; padding: .875rem 1rem; color: var(--ink); font-weight: 650; text-decoration: none; letter-spacing: .01em; }
main { max-width: 44rem; margin: 0 auto; padding: 1.25rem 1rem 4rem; }
h1 { font-size: clamp(1.5rem, 1.2rem + 1.5vw, 2rem); line-height: 1.2; margin: .5rem 0 .75rem; letter-spacing: -.01em; }
h2 { font-size: 1.125rem; margin: 1.75rem 0 .5rem; }
p { margin: .5rem 0; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.soft, .hint { color: var(--soft); }
.hint { font-size: .9375rem; margin: 0 0 .375rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1.25rem; }
form.card { display: grid; gap: 1.25rem; margin-top: 1.25rem; }
.pair { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); align-items: end; }
fieldset { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem 1rem; margin: 0; min-width: 0; }
legend { font-weight: 600; padding: 0 .375rem; }
label { display: block; font-weight: 600; margin-bottom: .125rem; }
input, select, textarea, button { font: inherit; width: 100%; min-height: 2.875rem; padding: .5625rem .75rem; border: 1px solid var(--edge); border-radius: .5rem;
  background: var(--card); color: var(--ink); }
::placeholder { color: var(--soft); opacity: 1; }
textarea { min-height: 9rem; resize: vertical; }
[aria-invalid="true"] { border: 2px solid var(--bad); }
.fault { color: var(--bad); font-weight: 600; margin: 0 0 .375rem; }
.fault::before { content: "⚠ "; }
.banner { border: 2px solid var(--bad); background: var(--bad-ground); border-radius: .75rem; padding: .75rem 1rem; margin: 1rem 0; }
.banner h2 { margin: 0 0 .25rem; }
.banner ul { margin: .25rem 0; padding-left: 1.25rem; }
.banner a { color: var(--bad); }
.choice { display: grid; grid-template-columns: 1.5rem 1fr; gap: .125rem .5rem; align-items: start; min-height: 2.75rem; padding: .5625rem 0; font-weight: 400; margin: 0; cursor: pointer; }
.choice input { width: 1.125rem; min-height: 0; height: 1.125rem; margin: .25rem 0 0; accent-color: var(--accent); }
.choice + .choice { border-top: 1px solid var(--line); }
.choice strong { font-weight: 600; }
button { background: var(--accent); color: var(--on-accent); border-color: transparent; font-weight: 650; cursor: pointer; }
button:hover { filter: brightness(1.08); }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .375rem 1.25rem; margin: 1rem 0 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: .9375em ui-monospace, monospace; overflow-wrap: anywhere; }
.words { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 4px solid var(--line); padding: .25rem 0 .25rem 1rem; margin: .5rem 0; }
.words:dir(rtl) { border-left: 0; border-right: 4px solid var(--line); padding: .25rem 1rem .25rem 0; }
.refresh { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .75rem; margin: 0; } .refresh a, .next a { display: inline-block; padding: .625rem 0; }
.state { font-size: 1.1875rem; font-weight: 600; margin: 0 0 .25rem; }
.state.good { color: var(--good); } .state.bad { color: var(--bad); }
@media (max-width: 30rem) { .card { padding: 1rem; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
`;
