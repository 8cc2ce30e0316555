import { deflateSync } from 'node:zlib'
import { elementsOf, isJson, type Json, jsonText } from '../../../core/json'
import type { ModelRoute } from '../../../core/models/model'
import { err, ok, type Result } from '../../../core/result'
import type { ModelRequest } from '../../../pipeline/models/wires/model-request'

/** An answer of a sandbox model that writes neither text nor vectors. */
export interface MediaAnswer {
  readonly contentType: string
  readonly body: string | Buffer
}

interface MediaCall {
  /** Of a form: its texts. */
  readonly body: Json
  readonly request: Pick<ModelRequest, 'units'>
  /** Depends on the call alone. */
  readonly id: string
  readonly created: number
}

/** The sandbox's answer on a route; an error is one sentence for the caller. */
type Answering = (call: MediaCall) => Result<MediaAnswer, string>

export const MEDIA: Readonly<Partial<Record<ModelRoute, Answering>>> = {
  moderations: moderated,
  image_generations: drawn,
  image_edits: drawn,
  speech: spoken,
  transcriptions: transcribed,
  rerank: ranked,
}

function json(value: object): Result<MediaAnswer, string> {
  return ok({ contentType: 'application/json', body: JSON.stringify(value) })
}

/** OpenAI's categories, with the words that the sandbox flags. The others it never does. */
const CATEGORIES: Readonly<Record<string, RegExp | null>> = {
  harassment: /\b(idiot|moron)\b/i,
  'harassment/threatening': null,
  hate: null,
  'hate/threatening': null,
  illicit: null,
  'illicit/violent': null,
  'self-harm': null,
  'self-harm/intent': null,
  'self-harm/instructions': null,
  sexual: null,
  'sexual/minors': null,
  violence: /\b(kill|murder|shoot)(s|ed|ing)?\b/i,
  'violence/graphic': null,
}

/** A list of texts has a result each; parts of one input have one result together. */
function moderated({ body: { input, model }, id }: MediaCall): Result<MediaAnswer, string> {
  const inputs = elementsOf(input)
  const texts =
    typeof input === 'string' ? [input] : inputs.every((one) => typeof one === 'string') ? inputs : [partsOf(inputs)]
  const results = texts.map((text) => {
    const found = Object.entries(CATEGORIES).map(([name, words]) => [name, words?.test(text) ?? false] as const)
    return {
      flagged: found.some(([, is]) => is),
      categories: Object.fromEntries(found),
      category_scores: Object.fromEntries(found.map(([name, is]) => [name, is ? 0.99 : 0.0001])),
      category_applied_input_types: Object.fromEntries(found.map(([name, is]) => [name, is ? ['text'] : []])),
    }
  })
  return json({ id: `modr-${id}`, model, results })
}

function partsOf(parts: readonly unknown[]): string {
  return parts.map((part) => (isJson(part) ? jsonText(part['text'] ?? '') : jsonText(part))).join('\n')
}

const MAX_SIDE = 2048

function drawn({ body, request: { units }, created }: MediaCall): Result<MediaAnswer, string> {
  const size = body['size'] ?? 'auto'
  const [, width, height] = /^(\d{2,4})x(\d{2,4})$/.exec(size === 'auto' ? '1024x1024' : jsonText(size)) ?? []
  if (width === undefined || height === undefined || Number(width) > MAX_SIDE || Number(height) > MAX_SIDE)
    return err(`sandbox/draw accepts a size such as 1024x1024, of at most ${MAX_SIDE} pixels a side.`)
  const count = units?.count ?? 1
  const data = Array.from({ length: count }, (_, i) => {
    const image = patternPng(Number(width), Number(height), `${i} ${jsonText(body['prompt'])}`).toString('base64')
    return body['response_format'] === 'url' ? { url: `data:image/png;base64,${image}` } : { b64_json: image }
  })
  return json({ created, data, output_format: 'png', size: `${width}x${height}` })
}

/** Raw samples if asked for; otherwise a WAV file, whatever the format, since the sandbox has no encoder. */
function spoken({ body }: MediaCall): Result<MediaAnswer, string> {
  const pcm = tones(jsonText(body['input']))
  return ok(
    body['response_format'] === 'pcm'
      ? { contentType: 'audio/pcm', body: pcm }
      : { contentType: 'audio/wav', body: wavOf(pcm) },
  )
}

/** Does not listen: says how long the sound is, which is what is charged. */
function transcribed({ request: { units } }: MediaCall): Result<MediaAnswer, string> {
  const seconds = units && 'likely' in units ? (units.likely ?? 0) : 0
  return json({ text: `A recording of ${seconds} seconds.`, usage: { type: 'duration', seconds } })
}

/** Documents by the share of the query's words that they have, in the forms of Cohere and Jina at once. */
function ranked({ body, request: { units }, id }: MediaCall): Result<MediaAnswer, string> {
  const wanted = wordsOf(jsonText(body['query']))
  const results = elementsOf(body['documents']).map((one, index) => {
    const words = wordsOf(isJson(one) ? jsonText(one['text']) : jsonText(one))
    return {
      index,
      relevance_score: wanted.size === 0 ? 0 : [...wanted].filter((word) => words.has(word)).length / wanted.size,
    }
  })
  results.sort((one, other) => other.relevance_score - one.relevance_score || one.index - other.index)
  const most = typeof body['top_n'] === 'number' ? body['top_n'] : results.length
  const searches = units && 'likely' in units ? units.likely : 1
  return json({ id, results: results.slice(0, most), meta: { billed_units: { search_units: searches } } })
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
}

/** Cells of the pattern, in each direction. */
const CELLS = 8

/** A PNG of this size in two colours: a pattern of cells, mirrored, which the seed alone decides. Small, and drawn in a moment. */
function patternPng(width: number, height: number, seed: string): Buffer {
  const hash = new Bun.CryptoHasher('sha256').update(seed).digest()
  const rowBytes = Math.ceil(width / 8)
  const pixels = Buffer.alloc((rowBytes + 1) * height)
  const rows = Array.from({ length: CELLS }, (_, cell) => patternRow(hash[cell] ?? 0, width, rowBytes))
  for (let y = 0; y < height; y++) rows[Math.floor((y * CELLS) / height)]?.copy(pixels, y * (rowBytes + 1) + 1)
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // One bit per pixel, which is an index into a palette.
  head.set([1, 3], 8)
  const palette = Buffer.from([255, 255, 255, ...hash.subarray(CELLS, CELLS + 3)])
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(pixels, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function patternRow(bits: number, width: number, bytes: number): Buffer {
  const row = Buffer.alloc(bytes)
  for (let x = 0; x < width; x++) {
    const cell = Math.floor((x * CELLS) / width)
    const isSet = (bits >> Math.min(cell, CELLS - 1 - cell)) & 1
    if (isSet) row[x >> 3] = (row[x >> 3] ?? 0) | (0x80 >> (x & 7))
  }
  return row
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const frame = Buffer.alloc(body.length + 8)
  frame.writeUInt32BE(data.length, 0)
  body.copy(frame, 4)
  frame.writeUInt32BE(Bun.hash.crc32(body), body.length + 4)
  return frame
}

/** What OpenAI's `pcm` has: 16 bits, one channel. */
const RATE = 24_000
const MAX_TONES = 25
const TONE_MS = 40

/** A tone for each of the first characters of a text, at most a second: sound without a voice, always the same for a text. */
function tones(text: string): Buffer {
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
function wavOf(pcm: Buffer): Buffer {
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
