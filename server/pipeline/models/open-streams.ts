/** Calls of models and research under way, so that a stop can wait for them, and end what does not end by itself. */
export class OpenStreams {
  private readonly open = new Map<object, () => Promise<void>>()
  private lastLeft: (() => void) | null = null

  /** `end` breaks it off as the gateway's own doing, settles it and gives everything back. */
  add(call: object, end: () => Promise<void>): void {
    this.open.set(call, end)
  }

  delete(call: object): void {
    this.open.delete(call)
    if (this.open.size === 0) this.lastLeft?.()
  }

  /** Resolves when nothing is open; what is after `mostMs` is ended. */
  async ended(mostMs: number): Promise<void> {
    if (this.open.size === 0) return
    const left = new Promise<void>((resolve) => (this.lastLeft = resolve))
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, mostMs)))
    await Promise.race([left, late])
    clearTimeout(timer)
    await Promise.all([...this.open.values()].map((end) => end()))
  }
}
