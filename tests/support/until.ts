/** Longer than anything takes on an idle machine, shorter than a test may. */
const PATIENCE_MS = 30_000

/** Slow work is polled ten times a second at most: polling takes the processor from it. */
const MAX_PAUSE_MS = 100

/**
 * Waits until it is so, asking each millisecond at first and then each time a twentieth later. Throws where that never comes, with what is to be
 * `seen` then.
 */
export async function until(isSo: () => boolean | Promise<boolean>, seen?: () => unknown): Promise<void> {
  const began = performance.now()
  while (!(await isSo())) {
    const waited = performance.now() - began
    if (waited > PATIENCE_MS)
      throw new Error(`not so in ${PATIENCE_MS / 1000} s${seen ? `, but: ${Bun.inspect(await seen())}` : ''}`)
    await Bun.sleep(Math.min(MAX_PAUSE_MS, Math.max(1, waited / 20)))
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
