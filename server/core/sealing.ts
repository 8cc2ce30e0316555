/** Where a sealed value stands. It is bound into the value: moved to another row or column, it does not open. */
export interface Place {
  readonly table: string
  readonly row: string
  readonly column: string
}

export interface SealingKey {
  /** Stands in the sealed value, so that it is known which key opens it. */
  readonly id: string
  /** 256 bits. */
  readonly bytes: Uint8Array
}

export interface Opened {
  readonly text: string
  /** Sealed with a key that is not the newest: it is sealed again, so that this key may go. */
  readonly stale: boolean
}

/** Keeps secrets that must be read back, such as another service's tokens. What only has to be recognised is hashed instead. */
export interface Sealing {
  /** Seals with the newest key. Sealing the same text twice gives two values, of which neither tells anything of it. */
  seal(text: string, place: Place): string
  /** Throws `Unsealable` for a value that was changed, moved, or sealed with a key that is not here. */
  open(sealed: string, place: Place): Opened
}

/** Holds nothing of the value, so that it may be logged. */
export class Unsealable extends Error {}
