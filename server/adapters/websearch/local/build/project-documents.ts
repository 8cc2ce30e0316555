import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseMarkdown } from '../../passages/markdown-sections'
import { httpsPage, type Manifest, readManifest, repositoryPage } from './installed-packages'
import type { SectionedDocument } from './package-documents'

/** A page of the project's own documentation. */
export interface ProjectFile {
  readonly path: string
  readonly markdown: string
}

/** README.md and docs/**\/*.md of a project, by path. */
export async function projectFiles(projectRoot: string): Promise<ProjectFile[]> {
  const below = await readdir(join(projectRoot, 'docs'), { recursive: true }).catch(() => [])
  const paths = ['README.md', ...below.filter((path) => path.endsWith('.md')).map((path) => `docs/${path}`)].sort()
  const files = await Promise.all(
    paths.map(async (path) => ({ path, markdown: await readFile(join(projectRoot, path), 'utf8').catch(() => '') })),
  )
  return files.filter((file) => file.markdown !== '')
}

/**
 * The project's pages as documents, with URLs at its repository or else its homepage. A project without either gets URLs under
 * `.invalid`, a domain that never exists (RFC 2606).
 */
export async function projectDocuments(projectRoot: string): Promise<SectionedDocument[]> {
  const manifest = await readManifest(projectRoot)
  const name = typeof manifest.name === 'string' ? manifest.name : 'project'
  const base = projectBase(name, manifest)
  const summary = typeof manifest.description === 'string' ? manifest.description : ''
  return (await projectFiles(projectRoot)).flatMap(({ path, markdown }) => {
    const { sections } = parseMarkdown(markdown)
    if (sections.length === 0) return []
    const isReadme = path === 'README.md'
    return [
      {
        sections,
        document: {
          url: new URL(path.split('/').map(encodeURIComponent).join('/'), base).href,
          title: `${sections[0]?.path[0] ?? path} | ${name}`,
          kind: isReadme ? 'readme' : 'guide',
          siteName: name,
          ...(isReadme && summary !== '' ? { description: summary } : {}),
        },
      },
    ]
  })
}

function projectBase(name: string, manifest: Manifest): string {
  const repository = repositoryPage(manifest.repository)
  if (repository) return `${repository.replace(/\/$/, '')}/blob/HEAD/`
  const homepage = typeof manifest.homepage === 'string' ? httpsPage(manifest.homepage) : null
  if (homepage) return homepage.replace(/\/?$/, '/')
  return `https://${
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'project'
  }.invalid/`
}
