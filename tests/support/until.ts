/** Longer than anything takes on an idle machine, shorter than a test may. */
const PATIENCE_MS = 30_000

/** Waits until it is so, asking again each millisecond. Throws where that never comes. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not so in ${PATIENCE_MS / 1000} s`)
    await Bun.sleep(1)
  }
}

interface TextReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
}

/** Reads a stream until `isEnough` of what came. Throws where the stream ends before. */
export async function readUntil(reader: TextReader | undefined, isEnough: (text: string) => boolean): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  while (!isEnough(text)) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done) throw new Error(`the stream ended before: ${text}`)
    text += decoder.decode(value, { stream: true })
  }
  return text
}
