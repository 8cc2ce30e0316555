import { join } from 'node:path'
import { buildIndex } from '../../server/adapters/websearch/local/build/build-index'
import type { IndexDocument, IndexImage } from '../../server/adapters/websearch/local/build/index-document'
import { openLocalWebsearch } from '../../server/adapters/websearch/local/open-local-websearch'
import { BASE_URL, temporaryFolder, writeFixtureProject } from '../adapters/websearch/local/fixture-index'
import { WORLD_IMAGES, WORLD_NOW, WORLD_PAGES } from '../support/doubles/search-world'
import { websearchContract } from './websearch.contract'

const extraDocuments = WORLD_PAGES.map(
  ({ host, path, title, sections, lang, country, published, adult, place }): IndexDocument => {
    const markdown = sections.map((text, at) => `## Part ${at}\n\n${text}`).join('\n\n')
    const more = { ...(country && { country }), ...(published && { published }), ...(place && { place }) }
    return { url: `https://${host}${path}`, title, markdown, lang, adult, ...more }
  },
)
const extraImages = WORLD_IMAGES.map(({ page, title, file, lang, country, adult }): IndexImage => {
  const facts = { lang, adult, ...(country && { country }) }
  return { pageUrl: page, title, imageUrl: file, tags: [], width: 1920, height: 1080, ...facts }
})

websearchContract('local', async () => {
  const folder = temporaryFolder()
  const indexPath = join(folder.path, 'search.db')
  await buildIndex({ indexPath, ...writeFixtureProject(join(folder.path, 'project')), extraDocuments, extraImages })
  const plug = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => WORLD_NOW })
  return {
    ...plug,
    async close() {
      await plug.close()
      folder.remove()
    },
  }
})
