/** Beside the style of the pages, whose colours it uses. */
export const DOCS_CSS = `
.docs main, .docs .top a { max-width: 60rem; }
.docs main { overflow-wrap: anywhere; }
.docs nav ul { list-style: none; margin: 0; padding: 0; columns: 20rem; column-gap: 1.5rem; }
.docs nav li { break-inside: avoid; padding: .1875rem 0; overflow-wrap: anywhere; }
.docs section.call { margin: 1.25rem 0; scroll-margin-top: 1rem; }
.docs section.call > h3 { margin: 0 0 .25rem; font-size: 1.0625rem; overflow-wrap: anywhere; }
.docs h4 { margin: 1.125rem 0 .25rem; font-size: .9375rem; color: var(--soft); }
.docs .method { display: inline-block; min-width: 3.5rem; font: 650 .8125rem/1.6 ui-monospace, monospace; letter-spacing: .04em; color: var(--accent); }
.docs ul.fields { list-style: none; margin: 0; padding: 0; }
.docs ul.fields li { border-top: 1px solid var(--line); padding: .4375rem 0; overflow-wrap: anywhere; }
.docs ul.fields .soft { font-size: .9375rem; }
.docs pre { margin: .25rem 0; padding: .75rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--ground); overflow-x: auto; font: .875rem/1.5 ui-monospace, monospace; }
.docs .must { color: var(--bad); font-weight: 600; }
.docs summary { cursor: pointer; color: var(--accent); padding: .25rem 0; }
`;
