import { boundedBytes } from '../../core/bounded-bytes'
import { CONFIRM_MS } from '../../core/social/approvals'
import { CONFIRM_PATH } from './callback-page'

const MAX_FORM_BYTES = 1024
const LINK_ID = /^link_[0-9a-f]{32}$/

/** Binds the page's button to the browser that opened it. Scripts cannot read the cookie and other sites cannot send it. */
export function proofCookie({ link, proof }: { link: string; proof: string }, overHttps: boolean): string {
  return `${cookie(link, proof, CONFIRM_MS / 1000)}${overHttps ? '; Secure' : ''}`
}

/** Clears the cookie, which works only once. */
export function endedCookie(link: string): string {
  return cookie(link, '', 0)
}

/** The link that was confirmed, with this browser's proof; null if another site sent the form or the proof is missing. */
export async function readConfirmation(request: Request): Promise<{ link: string; proof: string } | null> {
  if (!isOwnForm(request.headers)) return null
  const form = new URLSearchParams((await boundedBytes(request.body, MAX_FORM_BYTES))?.toString('utf8') ?? '')
  const link = form.get('link') ?? ''
  if (!LINK_ID.test(link)) return null
  const prefix = `${cookieName(link)}=`
  const all = (request.headers.get('cookie') ?? '').split(/; */)
  const proof = all.find((one) => one.startsWith(prefix))?.slice(prefix.length)
  return proof ? { link, proof } : null
}

/** Each link has its own cookie, so that two pages in one browser do not interfere. */
function cookieName(link: string): string {
  return `gateway_${link}`
}

function cookie(link: string, value: string, seconds: number): string {
  return `${cookieName(link)}=${value}; Path=${CONFIRM_PATH}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
}

/** The page sends no referrer, so its form has the origin `null`. `Sec-Fetch-Site` takes precedence if sent. */
function isOwnForm(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  return origin === null || origin === 'null' || URL.parse(origin)?.host === headers.get('host')
}
