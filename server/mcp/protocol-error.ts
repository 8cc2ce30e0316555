/** The JSON-RPC code of a request with parameters that cannot be served. */
export const INVALID_PARAMS = -32602

/**
 * A failure that is answered as a JSON-RPC error. Both SDKs copy `code`, `message` and `data` of what a handler throws; the error class of
 * either would load its SDK with the server. The message begins as that class begins it, which clients may read.
 */
export class ProtocolError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(`MCP error ${code}: ${message}`)
    this.code = code
    this.data = data
  }
}
