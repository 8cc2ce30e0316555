/** Where a sealed value is stored, which is bound into the value: copied to another row or column, it does not open. */
export interface SealContext {
  readonly table: string
  readonly row: string
  readonly column: string
}

export interface SealingKey {
  /** Stored in the sealed value, to find the key that opens it. */
  readonly id: string
  /** 256 bits. */
  readonly bytes: Uint8Array
}

export interface Unsealed {
  readonly text: string
  /** Sealed with an older key. Seal it again, so that the older key can be removed. */
  readonly stale: boolean
}

/** Encrypts secrets that must be read back, such as another service's tokens. Secrets that are only compared are hashed instead. */
export interface Sealing {
  /** Seals with the newest key. Sealing the same text twice gives two different values. */
  seal(text: string, context: SealContext): string
  /** Throws `Unsealable` for a value that was changed, moved, or sealed with an unknown key. */
  open(sealed: string, context: SealContext): Unsealed
}

/** A sealed value that does not open. Contains nothing of the value, so it is safe to log. */
export class Unsealable extends Error {}
