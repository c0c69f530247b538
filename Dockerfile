# The program, its locked dependencies, Python, and shells with their tools: scripts/image_root.py says what is taken.
#
# It runs as root, as GitHub asks of container actions: the runner's files belong to another user and only their owner
# and root may write them. The digest is that of the list of images for all platforms; Dependabot moves it with its tag.

FROM python:3.13.15-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285 AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

# Neither the program's environment nor the one that builds it has a pip: the outer pip installs into both, exactly what
# the locks name.
COPY requirements.lock requirements-build.lock ./
RUN python -m venv --without-pip /app/venv \
 && python -m pip --python /app/venv/bin/python install --no-compile --require-hashes --no-deps --only-binary :all: -r requirements.lock \
 && python -m venv --without-pip /build \
 && python -m pip --python /build/bin/python install --require-hashes --no-deps --only-binary :all: -r requirements-build.lock

COPY pyproject.toml README.md LICENSE ./
COPY uploader uploader
COPY google_emulator google_emulator
RUN python -m pip --python /build/bin/python wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheels . \
 && python -m pip --python /app/venv/bin/python install --no-compile --no-index --no-deps /tmp/wheels/*.whl

# A job whose script runs in a shell of the image is isolated as well (see ENTRYPOINT), however it starts the program.
RUN sed -i '1s/$/ -I/' /app/venv/bin/uploader \
 && mkdir /app/bin \
 && ln -s ../venv/bin/uploader /app/bin/uploader \
 && printf '#!/bin/sh\nexec /app/venv/bin/python -I "$@"\n' > /app/bin/python \
 && chmod 755 /app/bin/python \
 && ln -s python /app/bin/python3

# The published layers, a folder for each. Bytecode is compiled here, and loaded without a check: a short-lived container
# would otherwise compile at every start.
COPY entrypoint.py /app/
COPY scripts scripts
RUN PYTHONHASHSEED=0 python -m scripts.image_root /app /layers


FROM scratch
LABEL org.opencontainers.image.title="google-release-uploader" \
      org.opencontainers.image.description="Uploads release artifacts to Google's upload services" \
      org.opencontainers.image.licenses="Apache-2.0"

# The system changes only with the base image, the program with each release.
COPY --from=build /layers/system /
COPY --from=build /layers/program /
# `container`, as systemd and podman set it, tells the program that this file system is deleted with its container.
ENV PATH=/app/bin:/app/venv/bin:/usr/local/bin:/usr/bin:/bin container=oci

# Isolated (-I): neither the working directory, which is the user's checkout, nor PYTHONPATH, which a workflow may have
# set for its own code, can put a module before the program's own.
ENTRYPOINT ["/app/venv/bin/python", "-I", "/app/entrypoint.py"]
