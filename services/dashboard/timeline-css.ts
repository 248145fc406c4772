/** The colours of the pages, in both schemes; a contrast of 4.5:1 at least on `--card` and `--ground`. */
export const TIMELINE_COLOURS = `
:root { color-scheme: light dark; --ink: light-dark(#1b2230, #e9ecf3); --soft: light-dark(#556072, #a5afc0); --line: light-dark(#d5dbe5, #333d4e);
  --card: light-dark(#ffffff, #1a2130); --ground: light-dark(#f3f5f9, #10151f); --accent: light-dark(#2447c4, #9db4ff);
  --bad: light-dark(#a3161c, #ff9d9d); --good: light-dark(#11682f, #74d795); --open: light-dark(#7a4a00, #f3c069); --shade: light-dark(#f6ead1, #3a3222); }
`;

/** How the timeline is drawn. Colours are the page's. */
export const TIMELINE_CSS = `
.tl { width: 100%; height: auto; color: var(--ink); font-size: 12px; }
.tl text { fill: currentColor; font-size: 12px; }
.tl .name { font-weight: 650; font-size: 13px; } .tl .standing, .tl .time, .tl .tick text { fill: var(--soft); font-size: 11.5px; }
.tl .f { fill: currentColor; } .tl .h { fill: var(--card); stroke: currentColor; stroke-width: 1.7; stroke-linejoin: round; }
.tl .l { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
.tl .k { fill: none; stroke: var(--card); stroke-width: 1.7; stroke-linecap: round; stroke-linejoin: round; }
.tl .t-soft { color: var(--soft); } .tl .t-good { color: var(--good); } .tl .t-open { color: var(--open); } .tl .t-bad { color: var(--bad); }
.tl .rail { stroke: var(--line); fill: none; stroke-dasharray: 1 5; stroke-linecap: round; stroke-width: 1.5; } .tl .run { stroke: var(--soft); stroke-width: 2; fill: none; }
.tl .axis, .tl .tick path { stroke: var(--line); fill: none; stroke-width: 1.5; }
.tl .mark path { stroke: currentColor; fill: none; stroke-width: 1.4; stroke-dasharray: 5 4; } .tl .mark text { font-weight: 600; } .tl.wide .mark text { paint-order: stroke; stroke: var(--card); stroke-width: 5px; }
.tl .m-deadline { color: var(--open); } .tl .m-expiry { color: var(--bad); } .tl .m-reserve { color: var(--soft); } .tl .m-close { color: var(--ink); } .tl .m-now { color: var(--accent); }
.tl .m-close path, .tl .m-now path { stroke-dasharray: none; }
.tl .claim { color: var(--accent); } .tl .claim path { stroke: currentColor; stroke-width: 2.2; fill: none; } .tl .claim .head { fill: currentColor; stroke: none; } .tl .claim text { font-weight: 600; }
.tl .gap { stroke: var(--card); stroke-width: 6; } .tl .cut { stroke: var(--soft); stroke-width: 1.4; fill: none; }
.tl .band { fill: var(--shade); }
.tl.narrow .name { font-size: 11.5px; }
.tl.narrow { display: block; max-width: 30rem; margin: 0 auto; } .tl.wide, .legend { display: none; } .tl.sample { width: 1.125rem; height: 1.125rem; flex: none; display: block; }
@media (min-width: 62rem) { .live .jump { display: none; } .tl.wide { display: block; } .legend { display: flex; } .tl.narrow { display: none; } }
`;
