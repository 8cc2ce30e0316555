import { ExecutionRevertedError } from 'viem'

/** An error and its causes: viem wraps a node's error in errors about the call. */
export function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 8; cause = cause.cause) causes.push(cause)
  return causes
}

/** Whether no node responded, or the node is rate-limiting us. */
export function isNodeTrouble(error: unknown): boolean {
  return causesOf(error).some(
    ({ name, message }) =>
      /^(HttpRequestError|TimeoutError|SocketClosedError|WebSocketRequestError|LimitExceededRpcError)$/.test(name) ||
      /Unable to connect|ECONNREFUSED|ECONNRESET/i.test(message),
  )
}

/** Whether the contract itself refused the call. Any other error may be a problem of the node. */
export function isRevert(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => cause instanceof ExecutionRevertedError || /\bVM execution error|\breverted\b/i.test(cause.message),
  )
}
