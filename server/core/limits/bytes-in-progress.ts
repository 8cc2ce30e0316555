/** The maximum bytes of request bodies in memory at once, per subject and in total. */
export interface ByteCaps {
  readonly subject: number
  readonly all: number
}

/** The cap that was reached. */
export type FullScope = 'subject' | 'all'

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
    return new ByteShare(this, subject)
  }

  /** The cap that this many more bytes of a subject would exceed, or null. */
  lacks(subject: string, bytes: number): FullScope | null {
    if (this.total + bytes > this.caps.all) return 'all'
    return (this.bySubject.get(subject) ?? 0) + bytes > this.caps.subject ? 'subject' : null
  }

  /** A negative number gives back. */
  add(subject: string, bytes: number): void {
    this.total += bytes
    const left = (this.bySubject.get(subject) ?? 0) + bytes
    if (left > 0) this.bySubject.set(subject, left)
    else this.bySubject.delete(subject)
  }
}

/** The memory that one body uses. */
export class ByteShare {
  private readonly room: BytesInProgress
  private readonly subject: string
  private held = 0
  private isOpen = true

  constructor(room: BytesInProgress, subject: string) {
    this.room = room
    this.subject = subject
  }

  /** The cap that this many more bytes would exceed, or null. Takes nothing. */
  lacks(bytes: number): FullScope | null {
    return this.isOpen ? this.room.lacks(this.subject, bytes) : 'all'
  }

  /** Takes the bytes. If a cap is reached, takes nothing and returns that cap. */
  take(bytes: number): FullScope | null {
    const overfull = this.lacks(bytes)
    if (overfull) return overfull
    this.held += bytes
    this.room.add(this.subject, bytes)
    return null
  }

  /** Releases everything that was taken. Idempotent. Later takes fail. */
  giveBack(): void {
    this.isOpen = false
    if (this.held > 0) this.room.add(this.subject, -this.held)
    this.held = 0
  }
}
