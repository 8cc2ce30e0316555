/** The status and headers of a response. */
export interface ResponseHead {
  readonly status: number
  readonly headers: Headers
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
const NOT_ON_LINK: readonly string[] = [...OF_CONNECTION, 'content-length']

type Fields = Record<string, string | readonly string[]>
type Written = readonly [status: number, headers: Fields]

/** Whether a header of a response is passed on by the node that got it. */
export function isPassed(name: string): boolean {
  return !OF_CONNECTION.has(name)
}

/** Status and headers as they are on a link: those that are passed on. */
export function responseHeadText({ status, headers }: Response): string {
  const fields: Fields = headers.toJSON()
  for (const name of NOT_ON_LINK) if (fields[name] !== undefined) delete fields[name]
  return JSON.stringify([status, fields] satisfies Written)
}

/** Throws if it is none. */
export function responseHeadIn(text: string): ResponseHead {
  const [status, fields] = JSON.parse(text) as Written
  // One by one: Bun takes longer to read an object.
  const headers = new Headers()
  for (const name in fields) {
    const value = fields[name] ?? ''
    if (typeof value === 'string') headers.set(name, value)
    // Only a cookie has a line for each of its values.
    else for (const line of value) headers.append(name, line)
  }
  return { status, headers, length: null, keepsConnection: true }
}
