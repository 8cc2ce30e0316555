/** Calls that may take long (models, research, streams) and are under way, so that a stop can wait for them and break off the rest. */
export class OpenCalls {
  private readonly open = new Map<object, () => Promise<void>>()
  private lastLeft: (() => void) | null = null

  /** `breakOff` ends the call as the gateway's own doing; it resolves when the call is settled and gave everything back. */
  add(call: object, breakOff: () => Promise<void>): void {
    this.open.set(call, breakOff)
  }

  delete(call: object): void {
    this.open.delete(call)
    if (this.open.size === 0) this.lastLeft?.()
  }

  /** Resolves when nothing is open; what is open after `mostMs` is broken off. */
  async ended(mostMs: number): Promise<void> {
    if (this.open.size === 0) return
    const left = new Promise<void>((resolve) => (this.lastLeft = resolve))
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, mostMs)))
    await Promise.race([left, late])
    clearTimeout(timer)
    await Promise.all([...this.open.values()].map((breakOff) => breakOff()))
  }
}
