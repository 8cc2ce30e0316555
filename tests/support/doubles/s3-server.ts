import { createHash, createHmac } from 'node:crypto'

interface Upload {
  readonly key: string
  readonly parts: Map<number, Uint8Array>
}

const ACCESS = 'AKIDEXAMPLE'
const SECRET = 'a secret key of the store'
/** A list has few keys per page here, so that a reader must turn pages. */
const PAGE = 3

/**
 * The wire of an S3-compatible store, in memory: objects, lists in pages, uploads in parts, and signatures (AWS Signature Version 4), which
 * it checks. A backup was also tried with s3rver 3.7.1, a store that others wrote.
 */
export function openS3Server(bucket = 'backups') {
  const objects = new Map<string, Uint8Array>()
  const uploads = new Map<string, Upload>()
  const fail: { puts: number } = { puts: 0 }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request) {
      const url = new URL(request.url)
      if (!isSigned(request, url)) return problem(403, 'SignatureDoesNotMatch')
      const [, name, ...rest] = decodeURIComponent(url.pathname).split('/')
      if (name !== bucket) return problem(404, 'NoSuchBucket')
      const key = rest.join('/')
      if (key === '') return list(objects, url.searchParams)
      if (url.searchParams.has('uploads') || url.searchParams.has('uploadId'))
        return multipart(request, url.searchParams, key)
      switch (request.method) {
        case 'PUT':
          if (fail.puts > 0 && fail.puts--) return problem(500, 'InternalError')
          objects.set(key, await request.bytes())
          return stored()
        case 'DELETE':
          objects.delete(key)
          return new Response(null, { status: 204 })
        default: {
          const found = objects.get(key)
          if (!found) return problem(404, 'NoSuchKey')
          const headers = {
            etag: '"x"',
            'content-length': String(found.length),
            'last-modified': new Date(0).toUTCString(),
          }
          return new Response(request.method === 'HEAD' ? null : found.slice(), { headers })
        }
      }
    },
  })
  async function multipart(request: Request, query: URLSearchParams, key: string): Promise<Response> {
    const id = query.get('uploadId')
    if (id === null) {
      const begun = crypto.randomUUID()
      uploads.set(begun, { key, parts: new Map() })
      return xml(`<InitiateMultipartUploadResult><UploadId>${begun}</UploadId></InitiateMultipartUploadResult>`)
    }
    const upload = uploads.get(id)
    if (!upload) return problem(404, 'NoSuchUpload')
    if (request.method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), await request.bytes())
      return stored()
    }
    uploads.delete(id)
    if (request.method === 'DELETE') return new Response(null, { status: 204 })
    const parts = [...upload.parts].sort(([a], [b]) => a - b).map(([, bytes]) => bytes)
    objects.set(key, new Uint8Array(Buffer.concat(parts)))
    return xml('<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>')
  }
  return {
    objects,
    /** How many of the next whole writes fail. */
    fail,
    access: {
      accessKeyId: ACCESS,
      secretAccessKey: SECRET,
      sessionToken: null,
      region: 'eu-central-1',
      endpoint: server.url.origin,
    },
    env: {
      AWS_ACCESS_KEY_ID: ACCESS,
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_ENDPOINT_URL: server.url.origin,
      AWS_REGION: 'eu-central-1',
    },
    close: () => server.stop(true),
  }
}

function list(objects: ReadonlyMap<string, Uint8Array>, query: URLSearchParams): Response {
  const after = query.get('continuation-token') ?? ''
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after).sort()
  const page = keys.slice(0, PAGE)
  const next = keys.length > PAGE ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
  const contents = page.map((key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size></Contents>`)
  return xml(
    `<ListBucketResult><KeyCount>${page.length}</KeyCount><IsTruncated>${next !== ''}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
  )
}

/** The signature of the headers, as Amazon documents it. */
function isSigned(request: Request, url: URL): boolean {
  const form = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
  const [, id, scope = '', names = '', signature] = form.exec(request.headers.get('authorization') ?? '') ?? []
  const [day = '', region = '', service = '', end = ''] = scope.split('/')
  const query = url.search
    .slice(1)
    .split('&')
    .filter(Boolean)
    .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
    .sort()
    .join('&')
  const headers = names.split(';').map((name) => `${name}:${request.headers.get(name)?.trim() ?? ''}\n`)
  const payload = request.headers.get('x-amz-content-sha256') ?? ''
  const canonical = [request.method, url.pathname, query, headers.join(''), names, payload].join('\n')
  const time = request.headers.get('x-amz-date') ?? ''
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const key = [day, region, service, end].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${SECRET}`,
  )
  return id === ACCESS && createHmac('sha256', key).update(text).digest('hex') === signature
}

const stored = () => new Response(null, { headers: { etag: '"x"' } })
const xml = (text: string) =>
  new Response(`<?xml version="1.0"?>${text}`, { headers: { 'content-type': 'application/xml' } })
const problem = (status: number, code: string) =>
  new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`, { status })
