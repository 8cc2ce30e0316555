const NONE: Uint8Array = new Uint8Array()

/**
 * Bytes that wait for more, in a buffer that doubles: many small chunks are copied a few times, not all of them with every chunk.
 * Slices that were handed out stay valid, since only the bytes after them are written.
 */
export class WaitingBytes {
  private bytes: Uint8Array = NONE
  private room: ArrayBufferLike | null = null

  get length(): number {
    return this.bytes.length
  }

  /** The waiting bytes followed by this chunk. */
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

  /** Sets the bytes that wait from now on: the rest of what `with` returned. */
  keep(rest: Uint8Array): void {
    this.bytes = rest
  }

  /** Returns the waiting bytes and removes them. */
  take(): Uint8Array {
    const { bytes } = this
    this.bytes = NONE
    return bytes
  }
}
