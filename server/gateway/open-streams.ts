/** What is streamed now, so that a stop can wait for it, and end what does not end by itself. */
export class OpenStreams {
  private readonly open = new Map<object, () => Promise<void>>()
  private lastLeft: (() => void) | null = null

  /** `end` charges what went through, and gives everything back. */
  add(stream: object, end: () => Promise<void>): void {
    this.open.set(stream, end)
  }

  delete(stream: object): void {
    this.open.delete(stream)
    if (this.open.size === 0) this.lastLeft?.()
  }

  /** Resolves when no stream is open; those that are after `mostMs` are ended and charged. */
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
