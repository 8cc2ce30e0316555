/** The maximum bytes of request bodies in memory at once, per subject and in total. */
export interface ByteCaps {
  readonly subject: number
  readonly all: number
}

/** The cap that was reached. */
export type FullScope = 'subject' | 'all'

/** The memory that one body uses. */
export interface ByteShare {
  /** The cap that this many more bytes would exceed, or null. Takes nothing. */
  lacks(bytes: number): FullScope | null
  /** Takes the bytes. If a cap is reached, takes nothing and returns that cap. */
  take(bytes: number): FullScope | null
  /** Releases everything that was taken. Idempotent. Later takes fail. */
  giveBack(): void
}

/**
 * Counts the bytes of request bodies in memory. It counts what has arrived and not the declared length of a large body, so
 * that declaring one without sending it does not block other callers.
 */
export class BytesInProgress {
  private readonly caps: ByteCaps
  private readonly bySubject = new Map<string, number>()
  private total = 0

  constructor(caps: ByteCaps) {
    this.caps = caps
  }

  share(subject: string): ByteShare {
    let held = 0
    let open = true
    const lacks = (bytes: number): FullScope | null => {
      if (!open || this.total + bytes > this.caps.all) return 'all'
      return (this.bySubject.get(subject) ?? 0) + bytes > this.caps.subject ? 'subject' : null
    }
    return {
      lacks,
      take: (bytes) => {
        const overfull = lacks(bytes)
        if (overfull) return overfull
        held += bytes
        this.add(subject, bytes)
        return null
      },
      giveBack: () => {
        open = false
        if (held > 0) this.add(subject, -held)
        held = 0
      },
    }
  }

  private add(subject: string, bytes: number): void {
    this.total += bytes
    const left = (this.bySubject.get(subject) ?? 0) + bytes
    if (left > 0) this.bySubject.set(subject, left)
    else this.bySubject.delete(subject)
  }
}
