/** Most bytes of bodies that are held at once: of one subject, and in all. */
export interface ByteCaps {
  readonly subject: number
  readonly all: number
}

/** Whose cap had no room. */
export type Overfull = 'subject' | 'all'

/** What one body holds of the room. */
export interface ByteShare {
  /** Whether so many bytes more would have room now. Takes nothing. */
  lacks(bytes: number): Overfull | null
  /** Takes the bytes, or nothing and tells which cap had no room. */
  take(bytes: number): Overfull | null
  /** Gives back all that was taken. Free to repeat; what would be taken afterwards finds no room. */
  giveBack(): void
}

/**
 * Counts the bytes of bodies that are under way, as they arrive and not as they were announced: whoever announces much and sends
 * nothing takes no room from others, and a lie gains nothing.
 */
export class BytesUnderWay {
  private readonly caps: ByteCaps
  private readonly bySubject = new Map<string, number>()
  private total = 0

  constructor(caps: ByteCaps) {
    this.caps = caps
  }

  share(subject: string): ByteShare {
    let held = 0
    let open = true
    const lacks = (bytes: number): Overfull | null => {
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
