/** The status and headers of a response. */
export interface ResponseHead {
  readonly status: number
  readonly headers: Headers
  /** The length of the body; null if it is unknown until its end. */
  readonly length: number | null
  /** Whether the connection may be used again once the body has ended. */
  readonly keepsConnection: boolean
}

/** Headers of a single connection, including the framing of the body, which the next server decides itself. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding'],
  'upgrade',
])
/** The next server measures the body itself. */
const NOT_ON_LINK: readonly string[] = [...OF_CONNECTION, 'content-length']

type Fields = Record<string, string | readonly string[]>
type Written = readonly [status: number, headers: Fields]

/** Whether a node passes on this response header. */
export function isPassed(name: string): boolean {
  return !OF_CONNECTION.has(name)
}

/** Status and passed-on headers, as sent on a link. */
export function responseHeadText({ status, headers }: Response): string {
  const fields: Fields = headers.toJSON()
  for (const name of NOT_ON_LINK) if (fields[name] !== undefined) delete fields[name]
  return JSON.stringify([status, fields] satisfies Written)
}

/** Throws if the text is not a head. */
export function responseHeadIn(text: string): ResponseHead {
  const [status, fields] = JSON.parse(text) as Written
  // One by one: in Bun this is faster than passing an object.
  const headers = new Headers()
  for (const name in fields) {
    const value = fields[name] ?? ''
    if (typeof value === 'string') headers.set(name, value)
    // Only cookies have one line per value.
    else for (const line of value) headers.append(name, line)
  }
  return { status, headers, length: null, keepsConnection: true }
}
