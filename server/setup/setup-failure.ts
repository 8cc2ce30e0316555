/** Why setting up cannot go on: one line for the reader and, where a tool failed, the end of what it said. */
export class SetupFailure extends Error {
  override readonly name = 'SetupFailure'
  readonly toolOutput: string

  constructor(message: string, toolOutput = '') {
    super(message)
    this.toolOutput = toolOutput
  }
}

/** Says any failure of setting up in one line, with the tool's last lines below it, and never a stack. */
export function describeFailure(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : String(failure)
  const tail = failure instanceof SetupFailure ? lastLines(failure.toolOutput, 40) : ''
  return tail === '' ? `error: ${message}` : `error: ${message}\n${tail}`
}

function lastLines(output: string, count: number): string {
  return output.trimEnd().split('\n').slice(-count).join('\n')
}
