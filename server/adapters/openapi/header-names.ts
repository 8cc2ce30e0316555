import { mayGoDown, mayGoUp, namesDown } from '../../core/apis/upstream-headers'

/** OpenAPI says that parameters of these names have no meaning; the gateway sends them by the operation's content types. */
const MEANINGLESS = ['accept', 'content-type']
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/

/** Whether a request header that a document declares may be the caller's. */
export function isCallersHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return TOKEN.test(name) && !MEANINGLESS.includes(lower) && mayGoUp(lower, { kind: 'none' })
}

/** Whether a response header that a document declares may be passed down, and would not be without being named. */
export function isNamedDown(name: string): boolean {
  const lower = name.toLowerCase()
  return TOKEN.test(name) && mayGoDown(lower) && !namesDown([]).includes(lower)
}
