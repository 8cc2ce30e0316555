import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ApiError, GoogleGenAI, Type } from '@google/genai'
import { type ModelGateway, openModelGateway, PRICE } from '../support/model-gateway'
import { eventStream, gemini, openVendor, type VendorDouble } from '../support/vendor-double'

/** The official package, unmodified: only its base URL and its key are ours. */
let vendor: VendorDouble
let gateway: ModelGateway
let client: GoogleGenAI
let origin: string
const USAGE = { promptTokenCount: 10, candidatesTokenCount: 3, thoughtsTokenCount: 1, totalTokenCount: 14 }
beforeAll(async () => {
  vendor = openVendor(() => Response.json(gemini.body('Hi', USAGE)))
  gateway = await openModelGateway([
    { id: 'gemini', upstream: { kind: 'gemini', base_url: `${vendor.origin}/v1beta` }, price: PRICE },
  ])
  const { key } = await gateway.funded()
  origin = gateway.serve()
  client = new GoogleGenAI({ apiKey: key.secret, httpOptions: { baseUrl: origin } })
})
afterAll(async () => {
  await gateway.close()
  vendor.close()
})

async function told(streaming: Promise<AsyncIterable<{ readonly text?: string | undefined }>>): Promise<string> {
  let text = ''
  for await (const chunk of await streaming) text += chunk.text ?? ''
  return text
}

describe('@google/genai', () => {
  test('its quickstart runs on a fresh machine, with the sandbox', async () => {
    const answer = await client.models.generateContent({ model: 'sandbox/echo', contents: 'Hello' })
    expect(answer.text).toBe('Hello')
    expect(answer.usageMetadata?.totalTokenCount).toBe(2)
  })

  test('plain and streamed', async () => {
    vendor.answer = () => Response.json(gemini.body('Hi', USAGE))
    expect((await client.models.generateContent({ model: 'gemini', contents: 'Hello' })).text).toBe('Hi')
    vendor.answer = () => eventStream(gemini.events(['Hel', 'lo'], USAGE))
    expect(await told(client.models.generateContentStream({ model: 'gemini', contents: 'Hello' }))).toBe('Hello')
    expect(await told(client.models.generateContentStream({ model: 'sandbox/echo', contents: 'Hello there' }))).toBe(
      'Hello there',
    )
  })

  test('tools, with the sandbox', async () => {
    const tools = [
      {
        functionDeclarations: [
          {
            name: 'weather',
            parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
          },
        ],
      },
    ]
    const answer = await client.models.generateContent({ model: 'sandbox/echo', contents: 'Paris', config: { tools } })
    expect(answer.functionCalls).toMatchObject([{ name: 'weather', args: { city: 'Paris' } }])
  })

  test('errors arrive as its own class', async () => {
    const refused = await client.models
      .generateContent({ model: 'nobody', contents: 'x' })
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ApiError)
    expect(refused).toMatchObject({ status: 404, message: expect.stringContaining('unknown_model') })
    const stranger = new GoogleGenAI({ apiKey: 'gwk_wrong', httpOptions: { baseUrl: origin } })
    expect(
      await stranger.models.generateContent({ model: 'gemini', contents: 'x' }).catch((error: unknown) => error),
    ).toMatchObject({ status: 401 })
    vendor.answer = () => gemini.error(400, 'INVALID_ARGUMENT')
    expect(
      await client.models.generateContent({ model: 'gemini', contents: 'x' }).catch((error: unknown) => error),
    ).toMatchObject({ status: 400 })
  })

  test('a failure in the middle of a stream is an error of the stream', async () => {
    vendor.answer = () => eventStream([`data: ${JSON.stringify(gemini.body('Hel', null, null))}\r\n\r\n`])
    const problem = await told(client.models.generateContentStream({ model: 'gemini', contents: 'x' })).then(
      () => null,
      (error: unknown) => error,
    )
    expect(problem).toBeInstanceOf(ApiError)
  })
})
