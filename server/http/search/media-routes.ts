import { Elysia } from 'elysia'
import { notFound } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'

/** The files behind image results of the local index. Null if a file does not exist. */
export type MediaFiles = (name: string) => Promise<{ body: Uint8Array<ArrayBuffer>; contentType: string } | null>

/** `/media/lucide/*`: cached for a day, because the files only change with the installed package. */
export function mediaRoutes(icons: MediaFiles) {
  return new Elysia({ name: 'media' }).get(
    '/media/lucide/:file',
    async ({ params }) => {
      const file = await icons(params.file)
      if (!file) throw notFound('This file does not exist.')
      return new Response(file.body, {
        headers: {
          'content-type': file.contentType,
          'cache-control': 'public, max-age=86400',
          'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
          'x-content-type-options': 'nosniff',
        },
      })
    },
    UNDOCUMENTED,
  )
}
