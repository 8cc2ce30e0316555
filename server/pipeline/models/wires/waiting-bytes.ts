const NONE: Uint8Array = new Uint8Array()

/**
 * Bytes that wait for more, in room that doubles: what comes in many small chunks is copied a few times, and not as a whole with
 * every chunk. What was given out stays as it is, for only what is behind it is written.
 */
export class WaitingBytes {
  private bytes: Uint8Array = NONE
  private room: ArrayBufferLike | null = null

  get length(): number {
    return this.bytes.length
  }

  /** What waits, with this chunk behind it. */
  with(chunk: Uint8Array): Uint8Array {
    const { bytes, room } = this
    if (bytes.length === 0) return chunk
    const length = bytes.length + chunk.length
    const fits = bytes.buffer === room && bytes.byteOffset + length <= room.byteLength
    const whole = fits ? new Uint8Array(room, bytes.byteOffset, length) : new Uint8Array(2 * length).subarray(0, length)
    if (!fits) whole.set(bytes)
    whole.set(chunk, bytes.length)
    this.room = whole.buffer
    return whole
  }

  /** What waits from now on: the rest of what `with` gave. */
  keep(rest: Uint8Array): void {
    this.bytes = rest
  }

  /** What waits, which then waits no longer. */
  take(): Uint8Array {
    const { bytes } = this
    this.bytes = NONE
    return bytes
  }
}
