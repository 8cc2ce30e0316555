/** What OpenAI's `pcm` has: 16 bits, one channel. */
const RATE = 24_000
const MAX_TONES = 25
const TONE_MS = 40

/** A tone for each of the first characters of a text, at most a second: sound without a voice, always the same for a text. */
export function tones(text: string): Buffer {
  const letters = [...text.slice(0, 2 * MAX_TONES)].slice(0, MAX_TONES)
  const length = (RATE * TONE_MS) / 1000
  const pcm = Buffer.alloc(letters.length * length * 2)
  letters.forEach((letter, i) => {
    const hertz = 220 + ((letter.codePointAt(0) ?? 0) % 48) * 15
    for (let at = 0; at < length; at++) {
      // Fades in and out, so that tones do not click.
      const volume = Math.sin((Math.PI * at) / length) * 8000
      const sample = Math.sin((2 * Math.PI * hertz * at) / RATE) * volume
      pcm.writeInt16LE(Math.round(sample), (i * length + at) * 2)
    }
  })
  return pcm
}

/** The same as a WAV file. */
export function wavOf(pcm: Buffer): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + pcm.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(RATE, 24)
  head.writeUInt32LE(RATE * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(pcm.length, 40)
  return Buffer.concat([head, pcm])
}
