import { useInfiniteQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { type CatalogOperation, catalogQuery } from '../../api/catalog.ts'
import { listState } from '../../api/client/list-state.ts'
import { CATALOG_TEXT as TEXT } from '../../messages/catalog.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Empty, Loading } from '../../ui/feedback/states.tsx'
import { ListFoot } from '../../ui/layout/list-parts.tsx'
import { SearchBox } from '../../ui/layout/search-box.tsx'
import { CatalogEntry } from './catalog-entry.tsx'

/** The operations on sale, by API, with a search. */
export function CatalogList({ search, isSignedIn, onSearch }: CatalogListProps) {
  const query = useInfiniteQuery(catalogQuery(search))
  const { failure, onRetry, more } = listState(query)
  const operations = query.data?.pages.flatMap((page) => page.operations)
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <SearchBox
          label={TEXT.search}
          hint={TEXT.searchHint}
          value={search}
          button={UI_TEXT.searchRows}
          onSearch={onSearch}
        />
        {search !== '' && (
          <Button tone="quiet" onClick={() => onSearch('')}>
            {TEXT.clear}
          </Button>
        )}
      </div>
      {failure && <Failed failure={failure} onRetry={onRetry} isStale={operations !== undefined} />}
      {!operations && !failure && <Loading rows={6} />}
      {operations?.length === 0 && (
        <Empty action={search !== '' && <Button onClick={() => onSearch('')}>{TEXT.clear}</Button>}>
          {search === '' ? TEXT.empty : TEXT.none}
        </Empty>
      )}
      {operations && operations.length > 0 && (
        <p role="status" className="text-muted">
          {TEXT.results(operations.length, more !== null)}
        </p>
      )}
      {byApi(operations ?? []).map(([title, entries]) => (
        <Group key={title} title={title} operations={entries} isSignedIn={isSignedIn} />
      ))}
      {more && <ListFoot shown={operations?.length ?? 0} all={undefined} more={more} />}
    </>
  )
}

type CatalogListProps = { search: string; isSignedIn: boolean; onSearch: (search: string) => void }

/** The operations grouped by the title of their API, in order. */
function byApi(operations: readonly CatalogOperation[]): readonly (readonly [string, readonly CatalogOperation[]])[] {
  return [...Map.groupBy(operations, ({ api_title: title }) => title)]
}

function Group({ title, operations, isSignedIn }: GroupProps) {
  const heading = useId()
  return (
    <section aria-labelledby={heading} className="grid min-w-0 gap-3">
      <h2 id={heading} className="wrap-anywhere">
        {title}
      </h2>
      <ul className="grid min-w-0 rounded-xl border border-line bg-surface">
        {operations.map((operation) => (
          <li key={operation.name} className="min-w-0 border-b border-line p-4 last:border-b-0 sm:px-6">
            <CatalogEntry operation={operation} isSignedIn={isSignedIn} />
          </li>
        ))}
      </ul>
    </section>
  )
}

type GroupProps = { title: string; operations: readonly CatalogOperation[]; isSignedIn: boolean }
