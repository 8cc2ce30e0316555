import { hash } from 'node:crypto'

/** Trusted markup made by `html`, as opposed to text from elsewhere. */
export interface Html {
  readonly html: string
}

/** A template that escapes every value except markup made by this function. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Html | readonly Html[])[]
): Html {
  return { html: parts.map((part, i) => part + (i < values.length ? asHtml(values[i]) : '')).join('') }
}

function asHtml(value: unknown): string {
  if (Array.isArray(value)) return value.map(asHtml).join('')
  if (typeof value === 'object' && value !== null && 'html' in value) return String(value.html)
  return Bun.escapeHTML(String(value))
}

const STYLE = `
:root{color-scheme:light dark;--bg:#fbfbfa;--surface:#fff;--line:#dededa;--strong:#85857d;--text:#1b1b18;--muted:#5c5c55;--accent:#1f5fbf;--on:#fff;--soft:#fcf0d9;--warn:#8a5300}
@media(prefers-color-scheme:dark){:root{--bg:#121211;--surface:#1a1a18;--line:#33332f;--strong:#7d7d75;--text:#f0efea;--muted:#a9a9a0;--accent:#84b1ff;--on:#0c1a30;--soft:#35270d;--warn:#f0b95b}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:14px/21px system-ui,sans-serif}
main{max-width:640px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:22px;line-height:28px;margin:0 0 12px}h2{font-size:16px;line-height:24px;margin:24px 0 8px}
p,ul{margin:0 0 12px}ul{padding-left:20px}
a{color:var(--accent)}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:16px}
.notice{background:var(--soft);color:var(--warn);padding:8px 12px;border-radius:6px}
.card{background:var(--surface);border:1px solid var(--line);border-radius:12px;padding:16px;margin:0 0 12px}
.card>:last-child{margin-bottom:0}.muted{color:var(--muted)}.text{white-space:pre-wrap;overflow-wrap:anywhere}
fieldset{border:1px solid var(--line);border-radius:12px;padding:12px 16px;margin:0 0 16px}
label{display:flex;gap:8px;align-items:center;min-height:36px}
button,select{font:inherit;min-height:36px;padding:0 16px;border-radius:6px;border:1px solid var(--strong);background:var(--surface);color:var(--text)}
button.primary{background:var(--accent);border-color:var(--accent);color:var(--on)}
button,select,label,input[type=radio]{cursor:pointer}
label{min-width:0}select{max-width:100%;min-width:0}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.row{display:flex;flex-wrap:wrap;gap:12px;align-items:center}
`
const STYLE_HASH = `'sha256-${hash('sha256', STYLE, 'base64')}'`

/** A page without scripts. `formTarget`: another origin that its form may submit or redirect to. */
export function htmlPage(title: string, body: Html, { status = 200, formTarget = '' } = {}): Response {
  const document = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${Bun.escapeHTML(title)} · Sandbox network</title><style>${STYLE}</style></head><body><main>${body.html}</main></body></html>`
  return new Response(document, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src ${STYLE_HASH}; form-action 'self' ${formTarget}; base-uri 'none'; frame-ancestors 'none'`,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      // Not `no-referrer`: the forms of the page would then name no origin where the browser sends no Sec-Fetch-Site.
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    },
  })
}
