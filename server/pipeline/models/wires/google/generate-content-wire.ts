import { elementsOf, isJson, type Json, jsonText, membersOf } from '../../../../core/json'
import type { ModelTokens } from '../../../../core/models/model-tokens'
import { ok } from '../../../../core/result'
import type { FrameRules, Run } from '../event-frame'
import { EventMeter } from '../event-meter'
import { JsonElements } from '../json/json-elements'
import { edited, inserted, objectMembers } from '../json/json-members'
import { readableJson, reportsFailure } from '../json/readable-json'
import {
  type InputParts,
  imagePart,
  invalidMember,
  manyOf,
  missingMember,
  OPAQUE_PART,
  positive,
  readModelBody,
  sumOfParts,
  TEXT_PART,
} from '../model-request'
import { type MeteredOutput, type ModelWire, stringBytes, stringMembers } from '../model-wire'
import { specialTier, uncovered } from '../priced-members'
import { eventJson, latin1 } from '../sse-events'
import { geminiUsage } from '../token-usage'
import { GENERATE_MEMBERS, normalizeSpelling } from './generate-content-members'

const TEXT_MEMBERS = ['text', 'name']
const TEXTS = stringMembers(...TEXT_MEMBERS)

/**
 * Gemini's generateContent and its streamed form. Protobuf JSON accepts each property in two spellings.
 * https://ai.google.dev/api/generate-content
 */
export const GENERATE_CONTENT: ModelWire = {
  route: 'generate_content',
  read(bytes, path) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { members } = read.value
    const json = normalizeSpelling(read.value.json)
    if (!json) return invalidMember('body', 'contains the same property in both spellings')
    const { contents, generationConfig: config = {} } = json
    if (contents === undefined) return missingMember('contents')
    if (!Array.isArray(contents) && !isJson(contents)) return invalidMember('contents', 'must be a list of contents')
    const member = members.get('generationConfig') ?? members.get('generation_config')
    if (!isJson(config)) return invalidMember('generationConfig', 'must be an object')
    const settings = normalizeSpelling(config)
    if (!settings || (member && !objectMembers(bytes, member.start)))
      return invalidMember('generationConfig', 'contains the same setting twice')
    const cap = positive(settings['maxOutputTokens'])
    // A null would be a duplicate of the cap that the gateway adds, and a parser that takes the last one would see no cap.
    if (cap === undefined || settings['maxOutputTokens'] === null)
      return invalidMember('generationConfig.maxOutputTokens', 'must be a whole number above 0')
    const choices = positive(settings['candidateCount'])
    if (choices === undefined || (choices ?? 1) > 8)
      return invalidMember('generationConfig.candidateCount', 'must be a whole number from 1 to 8')
    return ok({
      bytes,
      members,
      model: path.model ?? '',
      stream: path.stream,
      usageAsked: true,
      cap,
      choices: choices ?? 1,
      parts: sumOfParts([...manyOf(contents), ...manyOf(json['systemInstruction'])].flatMap(partsOfContent)),
      hasTools: manyOf(json['tools']).length > 0,
      uncovered: uncovered(json, GENERATE_MEMBERS),
      ...(json['serviceTier'] !== undefined && { tier: specialTier(json['serviceTier']) }),
    })
  },
  bodyFor({ bytes, members, cap: given }, _upstream, cap) {
    if (given !== null) return bytes
    const member = members.get('generationConfig') ?? members.get('generation_config')
    if (member) return edited(bytes, [inserted(bytes, member.start, 'maxOutputTokens', cap)])
    return edited(bytes, [inserted(bytes, 0, 'generationConfig', { maxOutputTokens: cap })])
  },
  usageOf: (answer) => geminiUsage(answer['usageMetadata']),
  textBytes: (answer) => stringBytes(answer, TEXTS),
  answerOf({ candidates, promptFeedback, usageMetadata }, _request, bytes) {
    return elementsOf(candidates).length > 0 || isJson(promptFeedback) || geminiUsage(usageMetadata) ? bytes : null
  },
  meter: (_request, { events }) => new GeminiMeter(events),
  // The failure is formatted like the other events: the vendor's SDK ignores a bare error unless it arrives in a chunk of its own.
  errorEvent: (body, { events }) => (events ? `data: ${body}\n\n` : `,${body}]`),
}

/** Properties of a part whose byte length bounds their tokens. */
const BOUNDED_BY_BYTES: ReadonlySet<string> = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'functionCall',
  'executableCode',
  'codeExecutionResult',
  'partMetadata',
])

function partsOfContent(content: unknown): InputParts[] {
  return manyOf(isJson(content) ? content['parts'] : null).flatMap((part) => {
    if (!isJson(part)) return [TEXT_PART]
    const { inlineData, fileData, functionResponse, ...others } = normalizeSpelling(part) ?? { ...part, twice: true }
    const data = [inlineData, fileData].filter(isJson)
    const { mediaResolution: _, ...members } = others
    if (!Object.keys(members).every((name) => BOUNDED_BY_BYTES.has(name))) return [OPAQUE_PART]
    return [
      TEXT_PART,
      ...data.map((one) => (isPicture(one) ? imagePart(one === inlineData ? one['data'] : null) : OPAQUE_PART)),
      ...partsOfContent(functionResponse),
    ]
  })
}

function isPicture(data: Json): boolean {
  return jsonText(data['mimeType'] ?? data['mime_type']).startsWith('image/')
}

/** Whether the answer ended. A text is followed by no colon. */
const FINISH = /"(?:finish|block)Reason"\s*:/
/** Events of text, with the running count of usage that the vendor adds to each. */
const TEXT_EVENTS: FrameRules = {
  varying: /"(text|name)"\s*:\s*"|"\w{1,40}TokenCount"\s*:\s*(?=\d)/g,
  texts: new Set(TEXT_MEMBERS),
  beyond: new RegExp(`"error"|${FINISH.source}`),
  hidden: '',
}

/** The stream ends with the body. A finish reason or a blocked prompt shows that it was not cut. */
class GeminiMeter extends EventMeter {
  private counts: ModelTokens | null = null
  /** Set for a stream that is one JSON array. */
  private readonly elements: JsonElements | null

  constructor(events: boolean) {
    super(TEXT_EVENTS)
    this.elements = events ? null : new JsonElements((element) => this.readPart(element, latin1(element), elementJson))
  }

  get seen(): MeteredOutput {
    return { counts: this.counts, isFinal: this.isComplete && this.counts !== null, textBytes: this.textBytes }
  }

  override push(chunk: Uint8Array): Uint8Array {
    return this.elements ? this.elements.push(chunk) : super.push(chunk)
  }

  override close(): Uint8Array {
    if (!this.elements) return super.close()
    const rest = this.elements.end()
    this.last = this.elements.ending
    return rest
  }

  read(event: Uint8Array, text: string): null {
    this.readPart(event, text, eventJson)
    return null
  }

  override count(run: Run, events: string): void {
    super.count(run, events)
    this.countLast(events)
  }

  private readPart(part: Uint8Array, text: string, jsonOf: (part: Uint8Array) => Json): void {
    this.textBytes += stringBytes(text, TEXTS)
    // An error may come in place of the events.
    if (text.includes('"error"')) this.hasFailed ||= reportsFailure(jsonOf(part)) || reportsFailure(elementJson(part))
    if (FINISH.test(text)) this.isComplete = true
    // Cumulative, or only at the end: the last report replaces the earlier ones.
    if (text.includes('"usageMetadata"')) this.counts = geminiUsage(jsonOf(part)['usageMetadata']) ?? this.counts
  }

  /** The last plausible report in several events. */
  private countLast(events: string): void {
    if (!events.includes('"usageMetadata"')) return
    for (const event of events
      .trimEnd()
      .split(/\n\r?\n/)
      .reverse()) {
      const counts = geminiUsage(eventJson(event)['usageMetadata'])
      if (counts === null) continue
      this.counts = counts
      return
    }
  }
}

function elementJson(element: Uint8Array): Json {
  return membersOf(readableJson(new TextDecoder().decode(element)))
}
