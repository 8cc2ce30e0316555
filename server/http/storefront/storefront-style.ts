/** The look of the pages for strangers: the colors and type of the dashboard. */
export const STOREFRONT_STYLE = `
:root{color-scheme:light dark;--text:#1c2024;--muted:#5b6470;--line:#d9dde2;--soft:#f3f5f7;--back:#fff;--link:#1f5fbf}
@media(prefers-color-scheme:dark){:root{--text:#e6e8eb;--muted:#a3acb8;--line:#363b42;--soft:#20242a;--back:#15181c;--link:#84b1ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.6 system-ui,sans-serif;overflow-wrap:break-word}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-999px}.skip:focus{left:1rem;top:1rem;background:var(--back);padding:.5rem}
header,main,footer{max-width:68rem;margin:0 auto;padding:1rem 1.25rem}
header{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;align-items:center;justify-content:space-between}
header nav,footer nav,.act{display:flex;flex-wrap:wrap;gap:.5rem 1.25rem;align-items:center}
header nav a{text-decoration:none}
.name{display:flex;gap:.6rem;align-items:center;font-weight:650;font-size:1.1rem;color:var(--text);text-decoration:none}
.button{display:inline-block;padding:.5rem 1.1rem;border-radius:.5rem;background:var(--accent);color:var(--on-accent);font-weight:600;text-decoration:none}
.quiet{padding:.5rem .25rem}
.hero{padding:3rem 0 1.5rem;max-width:46rem}
h1{font-size:clamp(1.7rem,4.5vw,2.75rem);line-height:1.15;margin:.3rem 0 1rem;text-wrap:balance}
.hero p{font-size:1.1rem;color:var(--muted)}
h2{font-size:1.35rem;margin:2.5rem 0 .75rem}
h3{font-size:1.05rem;margin:0 0 .5rem}
.cards,.samples{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr));gap:1rem}
.samples>div{min-width:0}
article{border:1px solid var(--line);border-radius:.75rem;padding:1rem 1.1rem;min-width:0}
article ul{list-style:none;margin:0;padding:0}
article li{display:flex;justify-content:space-between;gap:1rem;padding:.25rem 0}
article p{margin:.5rem 0 0}
.price{font-variant-numeric:tabular-nums;text-align:right}
.muted,footer,td p{color:var(--muted)}
td p{margin:.1rem 0 0;font-size:.92rem}
.table{overflow-x:auto;border:1px solid var(--line);border-radius:.75rem}
table{border-collapse:collapse;width:100%}
th,td{padding:.6rem 1rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
thead th{border-top:0;font-size:.85rem;color:var(--muted);font-weight:600}
pre{margin:0;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;padding:.9rem 1rem;border-radius:.5rem;background:var(--soft);font-size:.85rem;line-height:1.5}
code{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.9em}
pre code{font-size:1em}
.facts{padding-left:1.2rem}
footer{margin-top:2rem;border-top:1px solid var(--line)}
@media(max-width:40rem){th,td{padding:.6rem .7rem}td code{overflow-wrap:anywhere}.hero{padding-top:1.5rem}}
`
