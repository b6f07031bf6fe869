/** The looks of the documentation page: tokens first, light and dark by the reader's own setting. */
export const css = `:root {
  color-scheme: light dark;
  --ground: light-dark(oklch(99% 0.003 250), oklch(19% 0.012 250));
  --raised: light-dark(oklch(96.5% 0.005 250), oklch(24% 0.014 250));
  --line: light-dark(oklch(89% 0.008 250), oklch(34% 0.016 250));
  --ink: light-dark(oklch(25% 0.015 250), oklch(92% 0.006 250));
  --quiet: light-dark(oklch(45% 0.015 250), oklch(74% 0.012 250));
  --accent: light-dark(oklch(45% 0.13 250), oklch(78% 0.11 240));
  --step: 0.5rem;
}
* { box-sizing: border-box; }
body {
  margin: 0 auto;
  padding: calc(3 * var(--step));
  max-width: 76rem;
  background: var(--ground);
  color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif;
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: calc(4 * var(--step));
}
@media (min-width: 60rem) {
  body { grid-template-columns: 20rem minmax(0, 1fr); }
  header { grid-column: 1 / -1; }
  nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; }
}
h1 { font-size: 1.6rem; margin: 0; }
h1 small { color: var(--quiet); font-weight: 400; font-size: 1rem; }
h2 { font-size: 1rem; margin: calc(2 * var(--step)) 0 var(--step); color: var(--quiet); }
h3 { font-size: 1.05rem; margin: 0 0 var(--step); overflow-wrap: anywhere; }
h4 { font-size: 0.9rem; margin: calc(2 * var(--step)) 0 var(--step); }
a { color: var(--accent); }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
nav ul { list-style: none; margin: 0; padding: 0; font-size: 0.9rem; }
nav li { margin: 0 0 calc(var(--step) / 2); overflow-wrap: anywhere; }
nav a { text-decoration: none; }
nav a:hover { text-decoration: underline; }
nav b, h3 b { font-weight: 600; color: var(--accent); }
article {
  padding: calc(2 * var(--step)) calc(3 * var(--step));
  margin: 0 0 calc(2 * var(--step));
  background: var(--raised);
  border: 1px solid var(--line);
  border-radius: var(--step);
}
article:target { border-color: var(--accent); }
article p { margin: 0 0 var(--step); }
.right { color: var(--quiet); font-size: 0.9rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: calc(var(--step) / 2) var(--step); border-top: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere; }
pre { overflow: auto; margin: var(--step) 0 0; padding: var(--step); background: var(--ground); border: 1px solid var(--line); }
`
