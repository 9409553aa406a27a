// Builds two pages of plain files. Nothing is inline, because the server's Content-Security-Policy has no exceptions.
// Names of assets have a hash of their content, because assets are cached for ever.
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  publicDir: false,
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: { input: ['index.html', 'live.html'] },
  },
  // For `npm run dev` with a running `ingot serve`.
  server: { proxy: { '/v1': 'http://127.0.0.1:8000', '/live.json': 'http://127.0.0.1:8000' } },
})
