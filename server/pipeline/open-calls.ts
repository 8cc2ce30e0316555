/** A call that a shutdown can end. */
interface Breakable {
  /** Aborts the call on the gateway's behalf. It resolves when the call is settled and gave everything back. */
  breakOff(): Promise<void>
}

/** Open calls that may take long (models, research, streams), so that a shutdown can wait for them and abort the rest. */
export class OpenCalls {
  private readonly open = new Set<Breakable>()
  /** Shared by all who wait for the last call to end. */
  private left: PromiseWithResolvers<void> | null = null

  get count(): number {
    return this.open.size
  }

  add(call: Breakable): void {
    this.open.add(call)
  }

  delete(call: Breakable): void {
    this.open.delete(call)
    if (this.open.size > 0) return
    this.left?.resolve()
    this.left = null
  }

  /** Resolves when no call is open. Calls that are open after `maxMs` are aborted. */
  async ended(maxMs: number): Promise<void> {
    if (this.open.size === 0) return
    this.left ??= Promise.withResolvers()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, maxMs)))
    await Promise.race([this.left.promise, late])
    clearTimeout(timer)
    await Promise.all([...this.open].map((call) => call.breakOff()))
  }
}
