import { describe, expect, test } from 'bun:test'
import { formParts, writtenForm } from '../../../server/pipeline/models/wires/form-parts'
import { soundSeconds } from '../../../server/pipeline/models/wires/openai/sound-length'

/** 128 kbit/s at 44.1 kHz: 417 bytes for 1,152 samples. */
const FRAME = [0xff, 0xfb, 0x90, 0x00, ...Array.from({ length: 413 }, () => 0)]
const frames = (count: number) => Array.from({ length: count }, () => FRAME).flat()
const mp3 = (...bytes: readonly number[]) => soundSeconds(new Uint8Array(bytes))

function wav(format: readonly number[], more: readonly number[] = []): number | null {
  const [code = 1, channels = 1, rate = 8000, perSecond = 8000, bits = 8] = format
  const head = Buffer.alloc(36)
  head.write('RIFF', 0)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(code, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(perSecond, 28)
  head.writeUInt16LE(bits, 34)
  // A length of the samples that is a lie.
  return soundSeconds(new Uint8Array([...head, ...Buffer.from('data'), 1, 0, 0, 0, ...more, ...Buffer.alloc(16_000)]))
}

describe('the most seconds of a file', () => {
  test('of WAV follow from its bytes, whatever its chunks or its rate state', () => {
    expect(wav([1])).toBe(2)
    expect(wav([1, 1, 8000, 1_000_000])).toBe(2)
    expect(wav([1, 1, 8000, 4000])).toBe(4)
    expect(wav([1, 1, 8000, 0])).toBe(2)
    expect(wav([1, 2, 8000, 16_000])).toBe(1)
    // Compressed, and without a rate.
    for (const format of [[2], [0x55], [1, 0], [1, 1, 0]]) expect(wav(format)).toBe(null)
    expect(soundSeconds(new Uint8Array(Buffer.from('RIFFxxxxWAVEdata')))).toBe(null)
  })

  test('of WAV are not shortened by numbers that decoders ignore, nor by a second format', () => {
    // A-law that states 65,528 bits, and PCM of so many.
    expect(wav([6, 1, 8000, 8000, 65_528])).toBe(2)
    expect(wav([1, 1, 8000, 100_000_000, 65_528])).toBe(null)
    // 64 bits, of which 8 are valid.
    const extended = Buffer.alloc(60)
    extended.write('RIFFxxxxWAVEfmt ')
    extended.writeUInt32LE(40, 16)
    for (const [at, value] of [
      [20, 0xfffe],
      [22, 1],
      [34, 64],
      [38, 8],
      [44, 1],
    ] as const)
      extended.writeUInt16LE(value, at)
    extended.writeUInt32LE(8000, 24)
    expect(soundSeconds(Buffer.concat([extended, Buffer.from('data....'), Buffer.alloc(16_000)]))).toBeCloseTo(2, 2)
    const format = Buffer.alloc(24)
    for (const [at, value] of [
      [8, 1],
      [10, 1],
      [12, 8000],
      [22, 8],
    ] as const)
      format.writeUInt16LE(value, at)
    format.write('fmt ')
    format.writeUInt32LE(16, 4)
    const file = (...chunks: Buffer[]) =>
      soundSeconds(
        Buffer.concat([Buffer.from('RIFFxxxxWAVE'), ...chunks, Buffer.from('data....'), Buffer.alloc(16_000)]),
      )
    expect(file(format)).toBe(2)
    expect(file(format, format)).toBe(null)
    expect(file(...Array.from({ length: 100 }, () => Buffer.from('LIST\0\0\0\0')), format)).toBe(null)
  })

  test('of MP3 are not shortened by a tag or by frames that decoders do not follow', () => {
    // The size has digits above 127: decoders read on behind the first ten bytes.
    const tag = [...Buffer.from('ID3'), 3, 0, 0, 0x80, 0, 0x81, 0, ...Array.from({ length: 128 }, () => 0xff)]
    expect(mp3(...tag, ...frames(10))).toBe(null)
    // The second frame is of 48 kHz.
    const other = [0xff, 0xfb, 0x94, 0x00, ...Array.from({ length: 380 }, () => 0)]
    expect(mp3(...FRAME, ...other)).toBeCloseTo(1152 / 44_100 + 0.384, 6)
  })

  test('of MP3 are those of its frames; what is no frame counts at the lowest rate', () => {
    const seconds = 1152 / 44_100
    expect(mp3(...frames(10))).toBeCloseTo(10 * seconds, 6)
    const tag = [...Buffer.from('ID3'), 3, 0, 0, 0, 0, 1, 0, ...Array.from({ length: 128 }, () => 0xff)]
    expect(mp3(...tag, ...frames(10))).toBeCloseTo(10 * seconds, 6)
    expect(mp3(...frames(10), ...Buffer.alloc(5000), ...frames(1))).toBeCloseTo(10 * seconds + 5.417, 3)
  })

  test('are not known of anything else', () => {
    for (const text of ['', 'O', 'OggS', 'fLaC', 'ID3', '{"a":1}']) expect(soundSeconds(Buffer.from(text))).toBe(null)
    expect(mp3(0xff, 0xfb, 0xf0, 0)).toBe(null)
  })
})

describe('a form', () => {
  const part = (name: string, content: string | Uint8Array, fileName: string | null = null) => ({
    name,
    fileName,
    content: Buffer.from(content),
  })

  test('that was written anew has the same parts, and the same bytes each time', () => {
    const parts = [part('model', 'm'), part('file', new Uint8Array([0, 13, 10, 45, 45, 255]), 'a.wav'), part('x', '')]
    const form = writtenForm(parts)
    expect(formParts(form.bytes, form.boundary)).toEqual(parts)
    expect(writtenForm(parts)).toEqual(form)
    expect(writtenForm(parts.slice(1)).boundary).not.toBe(form.boundary)
    expect(new TextDecoder().decode(form.bytes.subarray(form.starts[0], (form.starts[0] ?? 0) + 1))).toBe('m')
  })

  test('is none if it is cut, has something before it, or parts that are named in another way', () => {
    const whole = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n'
    const parsed = (text: string) => formParts(Buffer.from(text), 'b')
    expect(parsed(whole)).toHaveLength(1)
    for (let length = 0; length < whole.length - 4; length++) expect(parsed(whole.slice(0, length))).toBe(null)
    for (const wrong of [
      `x${whole}`,
      whole.replace('name="a"', 'name=a'),
      whole.replace('form-data', 'attachment'),
      whole.replace('\r\n\r\n', '\r\n'),
      whole.replace('--b--', '--bb'),
    ])
      expect(parsed(wrong), wrong).toBe(null)
    expect(parsed('--b\r\n'.repeat(100))).toBe(null)
  })
})
