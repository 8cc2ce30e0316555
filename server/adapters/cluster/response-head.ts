/** The status and headers of a response. */
export interface ResponseHead {
  readonly status: number
  readonly headers: Headers | Record<string, string>
  /** The length of the body; null if only its end says so. */
  readonly length: number | null
  /** Whether the connection may be used again once the body has ended. */
  readonly keepsConnection: boolean
}

/** Of one connection only, and how the body is framed: the next server decides anew. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding'],
  'upgrade',
])
/** The next server measures the body itself. */
const LENGTH = 'content-length'
const ON_LINK = { length: null, keepsConnection: true }

type Written = readonly [status: number, headers: Readonly<Record<string, string | readonly string[]>>]

/** Whether a header of a response is passed on by the node that got it. */
export function isPassed(name: string): boolean {
  return !OF_CONNECTION.has(name)
}

/** Status and headers as they are on a link. */
export function responseHeadText({ status, headers }: Response): string {
  return JSON.stringify([status, headers.toJSON()] satisfies Written)
}

/** Throws if it is none. */
export function responseHeadIn(text: string): ResponseHead {
  const [status, fields] = JSON.parse(text) as Written
  const headers: Record<string, string> = {}
  let cookies: readonly string[] = []
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined || name === LENGTH || !isPassed(name)) continue
    if (typeof value === 'string') headers[name] = value
    else cookies = value
  }
  return { status, headers: cookies.length > 0 ? withCookies(headers, cookies) : headers, ...ON_LINK }
}

/** Only a cookie has a line for each of its values. */
function withCookies(headers: Record<string, string>, cookies: readonly string[]): Headers {
  const all = new Headers(headers)
  for (const cookie of cookies) all.append('set-cookie', cookie)
  return all
}
