/**
 * Reads a whole stream. Returns null and cancels the stream as soon as it exceeds `maxBytes`, whatever length it declared.
 * Throws the stream's own error when it breaks.
 */
export async function boundedBytes(
  stream: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) return null // leaving the loop cancels the stream
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}
