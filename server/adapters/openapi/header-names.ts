import { mayReturn, maySend, returnedNames } from '../../core/apis/upstream-headers'

/** OpenAPI says that parameters of these names have no meaning; the gateway sends them by the operation's content types. */
const MEANINGLESS = ['accept', 'content-type']
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/

/** Whether a request header that a document declares may be the caller's. */
export function isCallersHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return TOKEN.test(name) && !MEANINGLESS.includes(lower) && maySend(lower, { kind: 'none' })
}

/** Whether a response header that a document declares may be passed down, and would not be without being named. */
export function isReturnedHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return TOKEN.test(name) && mayReturn(lower) && !returnedNames([]).includes(lower)
}
