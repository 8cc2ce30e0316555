/**
 * All bytes of a stream, or null when they are more than `most`: reading ends there, and the stream is cancelled, whatever was
 * said of its length. A stream that breaks throws what it broke with.
 */
export async function boundedBytes(
  stream: AsyncIterable<Uint8Array> | null,
  most: number,
): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream ?? []) {
    length += chunk.byteLength
    if (length > most) return null // leaving the loop cancels the stream
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}
