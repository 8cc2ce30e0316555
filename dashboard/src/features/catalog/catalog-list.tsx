import { useInfiniteQuery } from '@tanstack/react-query'
import { type FormEvent, useId } from 'react'
import { type CatalogOperation, catalogQuery } from '../../api/catalog.ts'
import { listState } from '../../api/client/list-state.ts'
import { CATALOG_TEXT as TEXT } from '../../messages/catalog.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Empty, Loading } from '../../ui/feedback/states.tsx'
import { INPUT } from '../../ui/field.tsx'
import { CatalogEntry } from './catalog-entry.tsx'

/** What is on sale, by API, with a search. */
export function CatalogList({ search, isSignedIn, onSearch }: CatalogListProps) {
  const query = useInfiniteQuery(catalogQuery(search))
  const { failure, onRetry, more } = listState(query)
  const operations = query.data?.pages.flatMap((page) => page.operations)
  return (
    <>
      <Search key={search} search={search} onSearch={onSearch} />
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
      {more && (
        <div className="flex justify-center">
          <Button busy={more.busy} onClick={more.onMore}>
            {more.busy ? UI_TEXT.loading : UI_TEXT.loadMore}
          </Button>
        </div>
      )}
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

function Search({ search, onSearch }: Pick<CatalogListProps, 'search' | 'onSearch'>) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    onSearch(String(new FormData(event.currentTarget).get('q') ?? '').trim())
  }
  return (
    <search>
      <form onSubmit={submit} className="flex flex-wrap items-center gap-2">
        <input
          name="q"
          type="search"
          maxLength={200}
          aria-label={TEXT.search}
          placeholder={TEXT.searchHint}
          defaultValue={search}
          className={`${INPUT} sm:max-w-96`}
        />
        <Button type="submit">{TEXT.search}</Button>
        {search !== '' && (
          <Button tone="quiet" onClick={() => onSearch('')}>
            {TEXT.clear}
          </Button>
        )}
      </form>
    </search>
  )
}
