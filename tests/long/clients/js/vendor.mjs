// A vendor that somebody else wrote: `@copilotkit/aimock` speaks OpenAI's, Anthropic's and Google's APIs. Prints its address.
import { LLMock } from '@copilotkit/aimock'

const EXAMPLES = { number: 4, integer: 4, boolean: true, array: [], null: null }

/** The smallest value that a JSON Schema describes, with texts for strings. */
function exampleOf(schema) {
  if (schema?.enum) return schema.enum[0]
  if (schema?.properties)
    return Object.fromEntries(Object.entries(schema.properties).map(([name, member]) => [name, exampleOf(member)]))
  const type = Array.isArray(schema?.type) ? schema.type[0] : schema?.type
  return String(type).toLowerCase() in EXAMPLES ? EXAMPLES[String(type).toLowerCase()] : 'Paris'
}

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const mock = new LLMock({ port: 0, host: '127.0.0.1' })
mock.on({ endpoint: 'embedding' }, { embedding: [0.1, 0.2, 0.3] })
mock.onImage(/./, { image: { b64Json: PIXEL } })
mock.onSpeech(/./, { audio: btoa('ID3 a spoken sentence') })
mock.on(
  {
    endpoint: 'chat',
    predicate: ({ tools, messages }) => tools?.length && !messages.some(({ role }) => role === 'tool'),
  },
  ({ tools }) => {
    const [{ function: first }] = tools
    return {
      toolCalls: [
        {
          name: first.name,
          arguments: JSON.stringify(first.parameters?.properties ? exampleOf(first.parameters) : { location: 'Paris' }),
        },
      ],
    }
  },
)
mock.on({ endpoint: 'chat' }, ({ response_format: format }) => ({
  content: format?.json_schema ? JSON.stringify(exampleOf(format.json_schema.schema)) : 'It is sunny, said the vendor.',
}))
await mock.start()
process.stdout.write(`${mock.url}\n`)
