/** Why setup failed: a one-line message and, if a tool failed, its output. */
export class SetupFailure extends Error {
  override readonly name = 'SetupFailure'
  readonly toolOutput: string

  constructor(message: string, toolOutput = '') {
    super(message)
    this.toolOutput = toolOutput
  }
}

/** Describes a failure in one line, followed by the last lines of the tool's output. Never includes a stack. */
export function describeFailure(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : String(failure)
  const tail = failure instanceof SetupFailure ? lastLines(failure.toolOutput, 40) : ''
  return tail === '' ? `error: ${message}` : `error: ${message}\n${tail}`
}

function lastLines(output: string, count: number): string {
  return output.trimEnd().split('\n').slice(-count).join('\n')
}
