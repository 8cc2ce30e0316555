import { hash } from 'node:crypto'
import type { LinkEnd } from '../core/social/linking'
import { SCOPE_MEANINGS } from '../core/social/scopes'

const STYLE = `
:root{color-scheme:light dark;--bg:#fbfbfa;--surface:#fff;--line:#dededa;--text:#1b1b18;--muted:#5c5c55;--accent:#1f5fbf}
@media(prefers-color-scheme:dark){:root{--bg:#121211;--surface:#1a1a18;--line:#33332f;--text:#f0efea;--muted:#a9a9a0;--accent:#84b1ff}}
body{margin:0;background:var(--bg);color:var(--text);font:16px/24px system-ui,sans-serif}
main{max-width:520px;margin:10vh auto 0;padding:24px;background:var(--surface);border:1px solid var(--line);border-radius:12px}
h1{font-size:22px;line-height:28px;margin:0 0 12px}p,ul{margin:0 0 12px}.muted{color:var(--muted)}
a{color:var(--accent)}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`

/** It runs nothing, loads nothing and leads only to the gateway's own pages. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // The address of this page holds the code and the state.
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

const AGAIN = 'Ask the app that sent you here for a new link.'

/** How a link ended, for the person in whose browser it ended. */
export function callbackPage(end: LinkEnd): { status: number; body: string; headers: Record<string, string> } {
  const { status, title, words } = wordsOf(end)
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${Bun.escapeHTML(title)}</title><style>${STYLE}</style></head><body><main><h1>${Bun.escapeHTML(title)}</h1>${words}</main></body></html>`
  return { status, body, headers: HEADERS }
}

function wordsOf(end: LinkEnd): { status: number; title: string; words: string } {
  switch (end.kind) {
    case 'linked': {
      const { username, name } = end.user
      const can = end.scopes.map((scope) => `<li>${SCOPE_MEANINGS[scope]}</li>`).join('')
      const title = `@${username} is linked`
      const words = `<p>The app may now act as <strong>${Bun.escapeHTML(name)}</strong> <span class="muted">@${Bun.escapeHTML(username)}</span>:</p><ul>${can}</ul><p>You can close this page.</p><p class="muted">Not the right account? The owner of the app undoes it under <a href="/social">Social accounts</a>; you can also withdraw the access at the network itself.</p>`
      return { status: 200, title, words }
    }
    case 'denied':
      return page(
        200,
        'Nothing was linked',
        `You did not allow the access, so the app cannot act as you. Changed your mind? ${AGAIN}`,
      )
    case 'expired':
      return page(400, 'This link has expired', `A link can be used for ten minutes. ${AGAIN}`)
    case 'replayed':
      return page(
        400,
        'This link was used already',
        `Each link works once, and nothing was changed now. If your account is not linked: ${AGAIN}`,
      )
    case 'wrong_state':
      return page(
        400,
        'This link is not known',
        `It was not started here, or not all of it arrived. Nothing was linked. ${AGAIN}`,
      )
    case 'key_gone':
      return page(
        400,
        'The app has no access any more',
        `Its API key was revoked meanwhile. Nothing was linked. ${AGAIN}`,
      )
    case 'failed':
      return page(
        502,
        'Linking did not work',
        `The social network did not confirm the approval. Nothing was linked. ${AGAIN}`,
      )
  }
}

function page(status: number, title: string, words: string) {
  return { status, title, words: `<p>${words}</p><p class="muted">You can close this page.</p>` }
}
