import { ExecutionRevertedError } from 'viem'

/** An error and what it was made of: viem wraps what a node said in errors about the call. */
export function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 8; cause = cause.cause) causes.push(cause)
  return causes
}

/** Whether no node answered, or one that answers no more questions for now. */
export function isNodeTrouble(error: unknown): boolean {
  return causesOf(error).some(
    ({ name, message }) =>
      /^(HttpRequestError|TimeoutError|SocketClosedError|WebSocketRequestError|LimitExceededRpcError)$/.test(name) ||
      /Unable to connect|ECONNREFUSED|ECONNRESET/i.test(message),
  )
}

/** Whether the contract itself refused the call. Everything else that a node says of a call may be the node's own trouble. */
export function isRevert(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => cause instanceof ExecutionRevertedError || /\bVM execution error|\breverted\b/i.test(cause.message),
  )
}
