if (page.kind === 'server') makeServer();
else if (page.kind === 'looked') makeLooked();
else if (page.kind === 'unprofiled') makeUnprofiled();
else makeProcess();
