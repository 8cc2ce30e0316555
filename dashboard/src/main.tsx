import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/query-client.ts'
import { GettingStarted } from './pages/getting-started.tsx'
import { NotFound } from './pages/not-found.tsx'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root to mount on')

createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      {window.location.pathname === '/' ? <GettingStarted /> : <NotFound />}
    </QueryClientProvider>
  </StrictMode>,
)
