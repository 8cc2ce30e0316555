import { CHAT_WIRES, type ChatRequest, type EndpointType } from '../../api/playground/chat-wires.ts'
import { snippet } from '../../sample.ts'

export type ChatLanguage = 'curl' | 'python' | 'typescript'

const KEY = 'GATEWAY_API_KEY'
/** How a Node or Bun program reads an environment variable. This page has none. */
const NODE_KEY = ['process', 'env', KEY].join('.')
const PYTHON_KEY = `os.environ[${JSON.stringify(KEY)}]`

/** A model call as runnable code: curl, or the official client of the API format. The key comes from an environment variable. */
export function chatCode(language: ChatLanguage, type: EndpointType, request: ChatRequest, origin: string): string {
  if (language === 'curl') return curl(type, request, origin)
  const { model, ...body } = { model: request.model, ...CHAT_WIRES[type].body({ ...request, stream: false }) }
  return (language === 'python' ? PYTHON : TYPESCRIPT)[type]({ model, body, stream: request.stream, origin })
}

function curl(type: EndpointType, request: ChatRequest, origin: string): string {
  const wire = CHAT_WIRES[type]
  const sample = { method: 'POST', url: origin + wire.path(request), body: wire.body(request), key: { variable: KEY } }
  // Without this, curl buffers its output.
  return request.stream ? snippet('curl', sample).replace('curl ', 'curl --no-buffer ') : snippet('curl', sample)
}

interface Call {
  readonly model: string
  /** Without the model, and without the property that requests a stream. */
  readonly body: Readonly<Record<string, unknown>>
  readonly stream: boolean
  readonly origin: string
}

type Writer = (call: Call) => string

const PYTHON: Readonly<Record<EndpointType, Writer>> = {
  chat_completions: ({ model, body, stream, origin }) =>
    lines(
      'import os',
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url=${literal(`${origin}/v1`)}, api_key=${PYTHON_KEY})`,
      `answer = client.chat.completions.create(${keywords({ model, ...body }, stream)})`,
      ...(stream
        ? [
            'for chunk in answer:',
            '    if chunk.choices:',
            '        print(chunk.choices[0].delta.content or "", end="", flush=True)',
          ]
        : ['print(answer.choices[0].message.content)']),
    ),
  messages: ({ model, body, stream, origin }) =>
    lines(
      'import os',
      'from anthropic import Anthropic',
      '',
      `client = Anthropic(base_url=${literal(origin)}, api_key=${PYTHON_KEY})`,
      ...(stream
        ? [
            `with client.messages.stream(${keywords({ model, ...body })}) as answer:`,
            '    for text in answer.text_stream:',
            '        print(text, end="", flush=True)',
          ]
        : [`answer = client.messages.create(${keywords({ model, ...body })})`, 'print(answer.content[0].text)']),
    ),
  generate_content: ({ model, body, stream, origin }) =>
    lines(
      'import os',
      'from google import genai',
      '',
      `client = genai.Client(api_key=${PYTHON_KEY}, http_options={"base_url": ${literal(origin)}})`,
      ...(stream
        ? [
            `for chunk in client.models.generate_content_stream(${keywords({ model, ...googleCall(body) })}):`,
            '    print(chunk.text or "", end="", flush=True)',
          ]
        : [
            `answer = client.models.generate_content(${keywords({ model, ...googleCall(body) })})`,
            'print(answer.text)',
          ]),
    ),
}

const TYPESCRIPT: Readonly<Record<EndpointType, Writer>> = {
  chat_completions: ({ model, body, stream, origin }) =>
    lines(
      "import OpenAI from 'openai'",
      '',
      `const client = new OpenAI({ baseURL: ${literal(`${origin}/v1`)}, apiKey: ${NODE_KEY} })`,
      `const answer = await client.chat.completions.create(${objectLiteral({ model, ...body, ...(stream && { stream }) })})`,
      ...(stream
        ? ["for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? '')"]
        : ['console.log(answer.choices[0]?.message.content)']),
    ),
  messages: ({ model, body, stream, origin }) =>
    lines(
      "import Anthropic from '@anthropic-ai/sdk'",
      '',
      `const client = new Anthropic({ baseURL: ${literal(origin)}, apiKey: ${NODE_KEY} })`,
      ...(stream
        ? [
            `const answer = client.messages.stream(${objectLiteral({ model, ...body })})`,
            "answer.on('text', (text) => process.stdout.write(text))",
            'await answer.done()',
          ]
        : [
            `const answer = await client.messages.create(${objectLiteral({ model, ...body })})`,
            "for (const block of answer.content) if (block.type === 'text') console.log(block.text)",
          ]),
    ),
  generate_content: ({ model, body, stream, origin }) =>
    lines(
      "import { GoogleGenAI } from '@google/genai'",
      '',
      `const client = new GoogleGenAI({ apiKey: ${NODE_KEY}, httpOptions: { baseUrl: ${literal(origin)} } })`,
      ...(stream
        ? [
            `const answer = await client.models.generateContentStream(${objectLiteral({ model, ...googleCall(body) })})`,
            "for await (const chunk of answer) process.stdout.write(chunk.text ?? '')",
          ]
        : [
            `const answer = await client.models.generateContent(${objectLiteral({ model, ...googleCall(body) })})`,
            'console.log(answer.text)',
          ]),
    ),
}

/** Google's clients take everything besides the contents as one `config`. */
function googleCall({ contents, generationConfig, ...beside }: Readonly<Record<string, unknown>>) {
  const config = { ...beside, ...Object(generationConfig) }
  return { contents, ...(Object.keys(config).length > 0 && { config }) }
}

/**
 * Keyword arguments in Python, one per line. The values are strings, numbers, lists and objects, which JSON and Python write
 * alike.
 */
function keywords(members: Readonly<Record<string, unknown>>, stream = false): string {
  const given = Object.entries(members).map(([name, value]) => `    ${name}=${indented(literal(value), 4)},`)
  return lines('', ...given, ...(stream ? ['    stream=True,'] : []), '')
}

function objectLiteral(members: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(members).map(([name, value]) => `  ${name}: ${indented(literal(value), 2)},`)
  return lines('{', ...given, '}')
}

function literal(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

function indented(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`)
}

function lines(...all: readonly string[]): string {
  return all.join('\n')
}
