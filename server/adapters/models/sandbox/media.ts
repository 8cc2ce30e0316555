import { elementsOf, isJson, type Json, jsonText } from '../../../core/json'
import type { ModelRoute } from '../../../core/models/model'
import { err, ok, type Result } from '../../../core/result'
import { patternPng } from './png'
import { tones, wavOf } from './wav'

/** An answer of a sandbox model that writes neither text nor vectors. */
export interface MediaAnswer {
  readonly contentType: string
  readonly body: string | Buffer
}

interface MediaCall {
  readonly body: Json
  /** Depends on the call alone. */
  readonly id: string
  readonly created: number
}

/** The sandbox's answer on a route; an error is one sentence for the caller. */
type Answering = (call: MediaCall) => Result<MediaAnswer, string>

export const MEDIA: Readonly<Partial<Record<ModelRoute, Answering>>> = {
  moderations: moderated,
  image_generations: drawn,
  speech: spoken,
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

function drawn({ body, created }: MediaCall): Result<MediaAnswer, string> {
  const size = body['size'] ?? 'auto'
  const [, width, height] = /^(\d{2,4})x(\d{2,4})$/.exec(size === 'auto' ? '1024x1024' : jsonText(size)) ?? []
  if (width === undefined || height === undefined || Number(width) > MAX_SIDE || Number(height) > MAX_SIDE)
    return err(`sandbox/draw accepts a size such as 1024x1024, of at most ${MAX_SIDE} pixels a side.`)
  const count = typeof body['n'] === 'number' ? body['n'] : 1
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
