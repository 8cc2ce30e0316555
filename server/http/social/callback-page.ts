import { hash } from 'node:crypto'
import { shownName } from '../../core/plain-text'
import type { Confirmed } from '../../core/social/approvals'
import type { LinkEnd } from '../../core/social/linking'
import { SCOPE_MEANINGS, type SocialScope } from '../../core/social/scopes'
import type { SocialUser } from '../../core/social/session'

const STYLE = `
:root{color-scheme:light dark;--bg:#fbfbfa;--surface:#fff;--line:#dededa;--text:#1b1b18;--muted:#5c5c55;--accent:#1f5fbf}
@media(prefers-color-scheme:dark){:root{--bg:#121211;--surface:#1a1a18;--line:#33332f;--text:#f0efea;--muted:#a9a9a0;--accent:#84b1ff}}
body{margin:0;background:var(--bg);color:var(--text);font:16px/24px system-ui,sans-serif}
main{max-width:520px;margin:10vh auto 0;padding:24px;background:var(--surface);border:1px solid var(--line);border-radius:12px}
h1{font-size:22px;line-height:28px;margin:0 0 12px}p,ul{margin:0 0 12px}.muted{color:var(--muted)}
strong{overflow-wrap:anywhere}button{font:inherit;font-weight:600;padding:10px 20px;border:0;border-radius:8px;background:var(--accent);color:var(--surface);cursor:pointer}form{margin:20px 0}
a{color:var(--accent)}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`

/** The page runs and loads nothing, and its links and form lead only to the gateway itself. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // The address of this page contains the code and the state.
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

const AGAIN = 'Ask the app that sent you here for a new link.'
const IF_NOT_LINKED = 'If your account is not linked yet, ask the app that sent you here for a new link.'

/** Where the page's form is sent. */
export const CONFIRM_PATH = '/apis/v1/social/oauth_callback/confirm'

/** The page for the user after the approval: confirms the link, or says how it ended. */
export function callbackPage(end: LinkEnd | Confirmed): {
  status: number
  body: string
  headers: Record<string, string>
} {
  const { status, title, words } = wordsOf(end)
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${Bun.escapeHTML(title)}</title><style>${STYLE}</style></head><body><main><h1>${Bun.escapeHTML(title)}</h1>${words}</main></body></html>`
  return { status, body, headers: HEADERS }
}

function wordsOf(end: LinkEnd | Confirmed): { status: number; title: string; words: string } {
  switch (end.kind) {
    case 'approved':
      return question(end)
    case 'linked': {
      const { user, scopes } = end.session
      const title = `@${shown(user.username)} is linked`
      const words = `<p>The app can now do the following as ${named(user)}:</p>${listed(scopes)}<p>You can close this page.</p><p class="muted">Wrong account? Revoke access in your settings at the social network, or ask the owner of the app to unlink it under <a href="/social">Social accounts</a>.</p>`
      return { status: 200, title, words }
    }
    case 'not_confirmed':
      return page(
        400,
        'This request could not be confirmed',
        `The button works once, for ten minutes, and only in the browser that opened the page, with cookies enabled. ${IF_NOT_LINKED}`,
      )
    case 'denied':
      return page(
        200,
        'You declined access',
        `Nothing was linked, so the app cannot act as you. Changed your mind? ${AGAIN}`,
      )
    case 'expired':
      return page(400, 'This link has expired', `Links are valid for ten minutes. ${AGAIN}`)
    case 'replayed':
      return page(400, 'This link was already used', `Each link works once. Nothing was changed. ${IF_NOT_LINKED}`)
    case 'wrong_state':
      return page(
        400,
        'This link is not valid',
        `It is incomplete, or was not created by this gateway. Nothing was linked. ${AGAIN}`,
      )
    case 'key_gone':
      return page(400, 'This app no longer has access', `Its API key was revoked. Nothing was linked. ${AGAIN}`)
    case 'failed':
      return page(
        502,
        'Your account could not be linked',
        `The social network did not confirm the approval. Nothing was linked. ${AGAIN}`,
      )
  }
}

/** Names the key and its owner above the button, so that a user who was sent here by a stranger sees who makes the request. */
function question({ user, scopes, requester, link }: Extract<LinkEnd, { kind: 'approved' }>) {
  const username = shown(user.username)
  const words = `<p>You approved access at the social network. Your account is not linked yet.</p><p>The API key <strong><bdi>${escaped(requester.key)}</bdi></strong> of <strong><bdi>${escaped(requester.account)}</bdi></strong> requests permission to do the following as ${named(user)}:</p>${listed(scopes)}<form method="post" action="${CONFIRM_PATH}?link=${link}"><input type="hidden" name="link" value="${link}"><button>Link ${Bun.escapeHTML(`@${username}`)}</button></form><p class="muted">Don't recognize this request? Close this page. Nothing is linked, and the access you approved is revoked within ten minutes.</p>`
  return { status: 200, title: `Allow this app to act as @${username}?`, words }
}

const MAX_NAME_CHARACTERS = 80

function shown(text: string): string {
  return shownName(text, MAX_NAME_CHARACTERS)
}

function escaped(text: string): string {
  return Bun.escapeHTML(shown(text))
}

function named({ name, username }: SocialUser): string {
  return `<strong><bdi>${escaped(name)}</bdi></strong> <span class="muted"><bdi>@${escaped(username)}</bdi></span>`
}

function listed(scopes: readonly SocialScope[]): string {
  return `<ul>${scopes.map((scope) => `<li>${SCOPE_MEANINGS[scope]}</li>`).join('')}</ul>`
}

function page(status: number, title: string, words: string) {
  return { status, title, words: `<p>${words}</p><p class="muted">You can close this page.</p>` }
}
